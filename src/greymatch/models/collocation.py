"""Large ensembles from few solutions.

Members of a trajectory differ by few numbers: parameters, latents, the error that they carry, where they start. Where
these are known well, paths are polynomials of them. So some members are solved, and the others are weighted sums

    x_d(t) = sum_k w_dk x_k(t)    with    p(c_d) = sum_k w_dk p(c_k)    for all polynomials p up to a degree,

of the coordinates c. Some of those solved are left out of such sums to check them: where the sums miss these, a higher
degree is tried with more members solved, and at last all of them are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.simulation.solve import Solution
from greymatch.simulation.status import Status

HIGHEST = 4  # degree
FOR_EACH, BESIDE = 3, 8  # members solved for each term of a polynomial, and some more
CHECKS = 3  # one of so many of them
SHARE = 0.25  # of the members that are solved at most, unless all of them are
NUMBERS_AT_ONCE = 2**21  # of terms or of sums: more leave a processor's caches
NOTHING = 1e-9  # in units of the variance that coordinates have
RIDGE = 1e-12
SLACK = 3.0  # of what is foreseen of higher degrees
CARRIED, HOPEFUL, HOPELESS = range(3)
Solve = Callable[[Tensor], Solution]


class Solved(NamedTuple):
    """`values` (D, N, T, S, *grid) and `status` (D, N) of D members of each of N trajectories."""

    values: Tensor
    status: Tensor

    @staticmethod
    def of(solution: Solution, draws: int) -> Solved:
        """Of all members, draw after draw."""
        return Solved(solution.values.unflatten(0, (draws, -1)), solution.status.unflatten(0, (draws, -1)))


def collocated(solve: Solve, numbers: Tensor, exact: Tensor) -> Solved:
    """Paths of D members of each of N trajectories, with as few of them solved as will do.

    `solve` gives the paths (B, T, S, *grid) of some members by their places (B,) among all, draw after draw; `numbers`
    (D, N, C) are what members differ by; `exact` (S, *grid or ones) is the root mean square error that sums may have
    at any time.
    """
    draws, count, _ = numbers.shape
    differing = (numbers != numbers[:1]).flatten(0, 1).any(0)
    levels = list(_levels(draws, int(differing.sum())))
    if not levels:
        found = Solved.of(solve(torch.arange(draws * count, device=numbers.device)), draws)
        return found._replace(values=smoothed(found.values, numbers, exact))
    paths, rest = _Paths(solve, numbers[..., differing], exact), []
    left, known = torch.arange(count, device=numbers.device), 0
    for degree, size in levels:
        paths.solve(paths.members(left, slice(known, size)))
        judged = paths.judged(left, degree, size, levels[-1][0])
        paths.carry(left[judged == CARRIED], degree, size)
        rest.append(paths.members(left[judged == HOPELESS], slice(size, None)))
        left, known = left[judged == HOPEFUL], size
    paths.solve(torch.cat([*rest, paths.members(left, slice(known, None))]))
    return Solved(paths.values.transpose(0, 1), paths.status.T)


def smoothed(values: Tensor, numbers: Tensor, exact: Tensor) -> Tensor:
    """Members (D, N, T, S, *grid), all of them solved, as sums of first degree have them wherever such sums will do.

    Each solution errs by its own steps, and members that hardly differ lie apart by that; sums, of which large
    ensembles are made, do not.
    """
    numbers = numbers[..., (numbers != numbers[:1]).flatten(0, 1).any(0)]
    if FOR_EACH * (1 + numbers.shape[2]) > len(values):
        return values  # sums of so many terms would be the members themselves
    terms = _terms(_whitened(numbers.transpose(0, 1).double().nan_to_num(0.0, 0.0, 0.0)), 1)
    flat = values.transpose(0, 1).flatten(2)
    middle, size = flat.mean(1, keepdim=True), terms.square().sum(1, keepdim=True).sqrt()
    ways = torch.where(size > RIDGE, terms / size, 0.0).to(flat)  # orthogonal, as coordinates are without correlation
    sums = torch.baddbmm(middle, ways, ways.mT @ (flat - middle)).unflatten(2, values.shape[2:])
    wrong = sums - values.transpose(0, 1)
    miss = (wrong.square().mean(1).sqrt() / exact).flatten(1).amax(1)
    fine = (miss <= 1).reshape(-1, *(1,) * (values.ndim - 1))
    return torch.where(fine, sums, values.transpose(0, 1)).transpose(0, 1)


def _levels(draws: int, numbers: int) -> Iterator[tuple[int, int]]:
    """Degrees, and how many members of a trajectory are solved for each."""
    for degree in range(1, HIGHEST + 1):
        size = BESIDE + FOR_EACH * math.comb(numbers + degree, degree)
        if size <= SHARE * draws:
            yield degree, size


class _Paths:
    """What is known of the paths so far (N, D, T, S, *grid): in memory all of a trajectory are one after another.
    Members of each are solved in an `order` (N, D)."""

    def __init__(self, solve: Solve, numbers: Tensor, exact: Tensor) -> None:
        self.way, self.exact = solve, exact
        self.places = _whitened(numbers.transpose(0, 1).double().nan_to_num(0.0, 0.0, 0.0))
        self.order = _order(self.places)
        self.values = self.status = torch.empty(0)

    def members(self, rows: Tensor, which: slice) -> Tensor:
        """Some members (k, 2) of trajectories `rows` (n,): the trajectory, and which it is of these."""
        chosen = self.order[rows, which]
        return torch.stack([rows[:, None].expand_as(chosen), chosen], 2).flatten(0, 1)

    def solve(self, members: Tensor) -> None:
        if not len(members):
            return
        rows, draws = members.unbind(1)
        found = self.way(draws * len(self.order) + rows)
        if not len(self.status):
            self.values = found.values.new_empty(*self.order.shape, *found.values.shape[1:])
            self.status = found.status.new_empty(self.order.shape)
        self.values[rows, draws], self.status[rows, draws] = found.values, found.status

    def carry(self, rows: Tensor, degree: int, size: int) -> None:
        """Sums of the first `size` members become the paths of the others, for some trajectories at a time."""
        draws, numbers = self.order.shape[1], self.places.shape[2]
        each = max(math.comb(numbers + degree, degree), self.values[0, 0].numel())
        for some in rows.split(max(1, NUMBERS_AT_ONCE // (draws * each))):
            given = self.order[some, :size]
            known = self.values[some[:, None], given]
            self.values[some] = self._summed(some, degree, given, torch.arange(draws, device=some.device))
            self.values[some[:, None], given], self.status[some] = known, int(Status.SOLVED)

    def judged(self, rows: Tensor, degree: int, size: int, highest: int) -> Tensor:
        """What to do with each trajectory (n,). If a degree more gains no more than this one did, and the highest would
        not do, there is no hope."""
        lower, miss = (self._missed(rows, which, size) for which in (degree - 1, degree))
        hopeful = miss * (miss / lower) ** (highest - degree) <= SLACK
        judged = torch.where(hopeful, HOPEFUL, HOPELESS)
        return judged.masked_fill(miss <= 1, CARRIED)

    def _missed(self, rows: Tensor, degree: int, size: int) -> Tensor:
        """How far sums are from members that are solved and not in them, at the worst of times (n,)."""
        solved = self.order[rows, :size]
        checks = torch.arange(size, device=rows.device) % CHECKS == CHECKS - 1
        found = self._summed(rows, degree, solved[:, ~checks], solved[:, checks])
        wrong = (found - self.values[rows[:, None], solved[:, checks]]).nan_to_num(0.0)
        miss = (wrong.square().mean(1).sqrt() / self.exact).flatten(1).amax(1)
        failed = (self.status[rows[:, None], solved] != int(Status.SOLVED)).any(1)
        return miss.masked_fill(failed, torch.inf)

    def _summed(self, rows: Tensor, degree: int, given: Tensor, wanted: Tensor) -> Tensor:
        """Paths (n, k, T, S, *grid) of members `wanted`, (n, k) or (k,), from those of members `given` (n, m)."""
        terms = [_terms(self.places[rows[:, None], members], degree) for members in (given, wanted)]
        known = self.values[rows[:, None], given]
        flat = known.flatten(2)
        middle = flat.mean(1, keepdim=True)  # of which weights lose no digit
        found = torch.baddbmm(middle, _weights(*terms).to(flat), flat - middle)
        return found.unflatten(2, known.shape[2:])


def _whitened(numbers: Tensor) -> Tensor:
    """Coordinates (N, D, C) without correlation; those that are the same in all members are zero."""
    apart = numbers - numbers.mean(1, keepdim=True)
    size = apart.square().mean(1, keepdim=True).sqrt()
    apart = torch.where(size > 0, apart / size, 0.0)
    variance, axes = torch.linalg.eigh(apart.mT @ apart / apart.shape[1])
    return apart @ (axes * torch.where(variance > NOTHING, variance.rsqrt(), 0.0)[:, None])


def _order(places: Tensor) -> Tensor:
    """In turns the member that is farthest out, where polynomials err most, and the next as they were drawn."""
    far = places.square().sum(2).argsort(dim=1, descending=True, stable=True).argsort(1)
    drawn = torch.arange(far.shape[1], device=far.device)
    return torch.minimum(2 * far, 2 * drawn + 1).argsort(1)


def _terms(places: Tensor, degree: int) -> Tensor:
    """All products (n, k, P) of up to `degree` coordinates."""
    seen = torch.nn.functional.pad(places, (1, 0), value=1.0)
    factors = list(combinations_with_replacement(range(seen.shape[2]), degree))
    terms = seen.new_ones(*seen.shape[:2], len(factors))
    for columns in torch.tensor(factors, dtype=torch.long, device=seen.device).unbind(1):
        terms *= seen.index_select(2, columns)
    return terms


def _weights(known: Tensor, wanted: Tensor) -> Tensor:
    """Those (n, k, m) with which terms (n, m, P) that are known give the wanted ones (n, k, P), by least squares."""
    size = known.square().sum(1, keepdim=True).sqrt().clamp_min(RIDGE)
    known, wanted = known / size, wanted / size
    ridge = RIDGE * torch.eye(known.shape[2], dtype=known.dtype, device=known.device)
    return wanted @ torch.linalg.solve(known.mT @ known + ridge, known.mT)
