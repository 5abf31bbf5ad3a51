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

import torch
from torch import Tensor

from greymatch.simulation.solve import Solution
from greymatch.simulation.status import Status

HIGHEST = 4  # degree
FOR_EACH, BESIDE = 3, 8  # members solved for each term of a polynomial, and some more
CHECKS = 3  # one of so many of them
SHARE = 0.25  # of the members that are solved at most, unless all of them are
NOTHING = 1e-9  # in units of the variance that coordinates have
RIDGE = 1e-12
Solve = Callable[[Tensor], Solution]


def collocated(solve: Solve, numbers: Tensor, exact: Tensor) -> Solution:
    """Paths of D members of each of N trajectories (D * N), draw after draw, with as few of them solved as will do.

    `solve` gives the paths (B, T, S, *grid) of some members by their places (B,) among all; `numbers` (D, N, C) are what
    members differ by; `exact` (S, *grid or ones) is the root mean square error that
    sums may have at any time.
    """
    (draws, count, _), device = numbers.shape, numbers.device
    differing = (numbers != numbers[:1]).flatten(0, 1).any(0)
    levels = list(_levels(draws, int(differing.sum())))
    if not levels:
        return solve(torch.arange(draws * count, device=device))
    paths, left = _Paths(solve, numbers[..., differing], exact), torch.arange(count, device=device)
    for degree, size in levels:
        left = left[~paths.carried(left, degree, size)]
        if not len(left):
            break
    else:
        paths.solve(left, draws)
    return Solution(paths.values, paths.status, paths.steps)


def _levels(draws: int, numbers: int) -> Iterator[tuple[int, int]]:
    """Degrees, and how many members of a trajectory are solved for each."""
    for degree in range(1, HIGHEST + 1):
        size = BESIDE + FOR_EACH * math.comb(numbers + degree, degree)
        if size <= SHARE * draws:
            yield degree, size


class _Paths:
    """What is known of the paths so far: in each trajectory those of the members that are first in `order` (N, D)."""

    def __init__(self, solve: Solve, numbers: Tensor, exact: Tensor) -> None:
        self.way, self.exact = solve, exact
        self.places = _whitened(numbers.transpose(0, 1).double().nan_to_num(0.0, 0.0, 0.0))
        self.order = _order(self.places)
        self.values = self.status = torch.empty(0)
        self.known = self.steps = 0

    def solve(self, rows: Tensor, size: int) -> None:
        """Of some trajectories the members that are not solved yet, up to `size` of each."""
        fresh = self._among_all(rows, self.order[rows, self.known : size]).flatten()
        found = self.way(fresh)
        if not self.known:
            self.values = found.values.new_empty(self.order.numel(), *found.values.shape[1:])
            self.status = found.status.new_empty(self.order.numel())
        self.values[fresh], self.status[fresh] = found.values, found.status
        self.known, self.steps = size, max(self.steps, found.steps)

    def carried(self, rows: Tensor, degree: int, size: int) -> Tensor:
        """In which trajectories (n,) sums of `size` members solved do; there they become the paths of the others."""
        self.solve(rows, size)
        held = self._held(rows, degree)
        rows, given = rows[held], self.order[rows[held], :size]
        others = self.order[rows, size:]
        places = self._among_all(rows, others)
        self.values[places], self.status[places] = self._summed(rows, degree, given, others), int(Status.SOLVED)
        return held

    def _held(self, rows: Tensor, degree: int) -> Tensor:
        """Whether sums come close enough to members that are solved and not in them, at every time."""
        solved = self.order[rows, : self.known]
        left_out = torch.arange(self.known, device=rows.device) % CHECKS == CHECKS - 1
        found = self._summed(rows, degree, solved[:, ~left_out], solved[:, left_out])
        wrong = found - self.values[self._among_all(rows, solved[:, left_out])]
        astray = wrong.square().mean(1).sqrt() > self.exact  # at times that were not asked, nothing is
        return ~astray.flatten(1).any(1) & (self.status[self._among_all(rows, solved)] == int(Status.SOLVED)).all(1)

    def _summed(self, rows: Tensor, degree: int, given: Tensor, wanted: Tensor) -> Tensor:
        """Paths (n, k, T, S, *grid) of members `wanted` (n, k) from those of members `given`."""
        terms = [_terms(self.places[rows[:, None], members], degree) for members in (given, wanted)]
        known = self.values[self._among_all(rows, given)]
        flat = known.flatten(2)
        middle = flat.mean(1, keepdim=True)  # of which weights lose no digit
        found = torch.baddbmm(middle, _weights(*terms).to(flat), flat - middle)
        return found.reshape(*wanted.shape, *known.shape[2:])

    def _among_all(self, rows: Tensor, members: Tensor) -> Tensor:
        return members * len(self.order) + rows[:, None]


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
    columns = torch.arange(seen.shape[2], device=seen.device)
    return seen[..., torch.combinations(columns, degree, with_replacement=True)].prod(-1)


def _weights(known: Tensor, wanted: Tensor) -> Tensor:
    """Those (n, k, m) with which terms (n, m, P) that are known give the wanted ones (n, k, P), by least squares."""
    size = known.square().sum(1, keepdim=True).sqrt().clamp_min(RIDGE)
    known, wanted = known / size, wanted / size
    ridge = RIDGE * torch.eye(known.shape[2], dtype=known.dtype, device=known.device)
    return wanted @ torch.linalg.solve(known.mT @ known + ridge, known.mT)
