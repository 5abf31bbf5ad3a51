"""What the residual says in the physics' own words is the physics' to say.

Parameters and residual can move together without a trace in the data:

    f(x, theta) + r(x) = f(x, theta + d) + (r(x) - J(x) d),    J = df / dtheta,

and matching leaves d where it happened to be. The simplest residual decides. What is learned of each trajectory is
written as J d and a sum of few monomials of states and inputs, the same ones for all trajectories, found one by one
(orthogonal matching pursuit) and as many as are worth it; d then is owed to the parameters.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.models.dynamics import Dynamics
from greymatch.models.evidence import Evidence
from greymatch.models.latents import Latents
from greymatch.models.library import monomials, variables
from greymatch.models.pixels import some_pixels
from greymatch.models.sparse import eliminations

NUDGE = 0.05  # of a parameter, in standard deviations of its prior, for slopes by differences
DEGREE, MOST_TERMS, MOST_CHOSEN = 3, 128, 6
MOST_PLACES = 128  # terms by equations from which the least is dropped again and again
EXACT = 1e-15
WORTH = 3.0  # a term must on average divide the squares of what is left by this
TRIED, PIXELS, FRAMES = 128, 64, 12  # trajectories among which terms are chosen; cells and frames of a field
FARTHEST = 1.0  # in standard deviations of the prior
TOLERABLE = 0.1  # doubt about a parameter at which it gets half as much
SAME = 1e-9  # squares of a column left by others, below which it says nothing new


class Credit(NamedTuple):
    """By how much the parameters of each trajectory should move (N, L), in latent coordinates, and the `doubt` (N, L)
    about it: how far what no few terms explain would move them, were it all the physics'."""

    owed: Tensor
    doubt: Tensor

    def paid(self) -> Tensor:
        """What is owed, less where there is doubt."""
        share = 1 / (1 + (self.doubt / TOLERABLE).square())
        return (share * self.owed).clamp(-FARTHEST, FARTHEST)


@torch.no_grad()
def credit(dynamics: Dynamics, evidence: Evidence, latents: Latents, noise: Tensor) -> Credit:
    """Of trajectories with these latents, where they were observed. What lies below the `noise` (S,) of the field, in
    units of its derivative, needs no term."""
    # in double: what few terms are is told to all digits, and what is owed would be those that rounding leaves out
    said = _Said.of(deepcopy(dynamics).double(), evidence.double(), latents.double())
    terms = said.chosen(_tried(latents), float(noise.double().square().mean()))
    found = said.settled(terms)
    return Credit(found.owed.to(latents.eps), found.doubt.to(latents.eps))


@torch.no_grad()
def few_terms(
    dynamics: Dynamics, evidence: Evidence, latents: Latents, noise: Tensor, degree: int, worth: float = WORTH
) -> list[tuple[int, int]] | None:
    """The few terms that a residual which is a polynomial of this degree consists of beside what it owes, by equation
    and column of `candidates`; None if there are too many of these to tell. A term must be `worth` its place.

    Terms of a polynomial may cancel, so that one alone explains nothing: from all of them on, the least is dropped.
    """
    said = _Said.of(dynamics, evidence, latents, degree)
    rows = _tried(latents)[said.sound(_tried(latents))]
    places = [(equation, term) for equation in said.open.nonzero()[:, 0].tolist() for term in range(said.count)]
    if len(places) > MOST_PLACES:
        return None
    basis = orthonormal(said.slopes[rows])
    columns = torch.stack([said.column(*place, rows) for place in places], -1)
    target = said.residual[rows] - _onto(basis, said.residual[rows])
    floor = float(noise.double().square().mean() / target.square().mean().clamp_min(1e-300))
    fits = eliminations(columns - basis @ (basis.mT @ columns), target)
    best = min(fits, key=lambda fit: math.log(fit.unexplained**2 + floor + EXACT) + len(fit.kept) * math.log(worth))
    return [places[index] for index in best.kept]


def candidates(dynamics: Dynamics, evidence: Evidence, degree: int = DEGREE, cells: int | None = PIXELS) -> Tensor:
    """Monomials (N, W, K), or (N, W, K, P) at some cells of a grid, of what the residual sees; those of a lower degree
    come first."""
    return monomials(at_some(_variables(dynamics, evidence), dynamics, cells), degree, MOST_TERMS)


def at_some(field: Tensor, dynamics: Dynamics, cells: int | None = PIXELS) -> Tensor:
    """A field (N, W, C, *grid) at some cells (N, W, C, P), always the same, or at all in order; as it is if there is no
    grid."""
    grid = field.shape[3:]
    if not dynamics.physics.grid:
        return field
    return field.flatten(3) if cells is None else field.flatten(3)[..., some_pixels(grid, cells, field.device)]


def _tried(latents: Latents) -> Tensor:
    return torch.linspace(0, len(latents.z) - 1, min(TRIED, len(latents.z))).round().long()


@dataclass(frozen=True)
class _Said:
    """What the residual says (N, M) at points of each trajectory, equation after equation, the `slopes` of the physics
    there (N, M, L) and the candidates (N, P, K) of each of the S equations that are open, M = S P."""

    residual: Tensor
    slopes: Tensor
    monomials: Tensor
    open: Tensor

    @staticmethod
    def of(dynamics: Dynamics, evidence: Evidence, latents: Latents, degree: int = DEGREE) -> _Said:
        evidence = evidence.thinned(FRAMES) if dynamics.physics.grid else evidence  # fields are large
        over = latents.over(evidence.times.shape[1])
        parts = dynamics.parts(evidence.times, evidence.phase, over, evidence.inputs)
        place = (evidence.times, evidence.phase, evidence.inputs)
        slopes = [slope(dynamics, *place, over, index) for index in range(latents.eps.shape[1])]

        def rows(field: Tensor) -> Tensor:
            """(N, W, C, *cells) as (N, C, P), zero where nothing was seen."""
            return (field * seen).movedim(2, 1).flatten(2).double()

        def some(field: Tensor) -> Tensor:
            return rows(at_some(field, dynamics))

        seen = at_some(evidence.seen.expand_as(evidence.top[:, :, :1]), dynamics)
        axes = len(dynamics.physics.grid)
        unit = dynamics.scales_top.reshape(-1, *(1,) * axes)
        residual = some(parts.residual / unit).flatten(1)
        return _Said(
            residual=residual,
            slopes=torch.cat(
                [residual[..., None][..., :0], *(some(one / unit).flatten(1)[..., None] for one in slopes)], -1
            ),
            monomials=rows(candidates(dynamics, evidence, degree)).mT,
            open=dynamics.open > 0,
        )

    @property
    def count(self) -> int:
        return self.monomials.shape[-1]

    def sound(self, rows: Tensor) -> Tensor:
        """Which of the trajectories `rows` are numbers throughout."""
        parts = (self.residual, self.slopes.flatten(1), self.monomials.flatten(1))
        return torch.stack([part[rows].isfinite().all(1) for part in parts]).all(0)

    def chosen(self, rows: Tensor, least: float) -> list[tuple[int, int]]:
        """The few terms, by equation and monomial, that explain the residual of trajectories `rows` beside slopes, down
        to a mean square of `least`."""
        basis = orthonormal(self.slopes[rows])
        left = self.residual[rows] - _onto(basis, self.residual[rows])
        floor = least * left.numel()
        found, costs = [], [_squares(left) + floor]
        for count in range(1, MOST_CHOSEN + 1):
            column, term = self._best(rows, basis, left)
            left, basis = left - _onto(column, left), torch.cat([basis, column], -1)
            found.append(term)
            costs.append((_squares(left) + floor) * WORTH**count)
        return found[: costs.index(min(costs))]

    def settled(self, terms: list[tuple[int, int]]) -> Credit:
        """Least squares of each trajectory with the slopes and those terms."""
        others = self._columns(terms)
        left = self.residual - _onto(orthonormal(torch.cat([others, self.slopes], -1)), self.residual)
        unexplained = self._by_equation(left).square().mean((0, 2), keepdim=True)
        owed, doubt = [], []
        for index in range(self.slopes.shape[-1]):
            beside = torch.cat([others, self.slopes[..., :index], self.slopes[..., index + 1 :]], -1)
            own = self.slopes[..., index] - _onto(orthonormal(beside), self.slopes[..., index])
            squares = own.square().sum(1)
            least = SAME * squares.mean() + 1e-300
            owed.append((own * self.residual).sum(1) / squares.clamp_min(least))
            astray = (self._by_equation(own).square() * unexplained).sum((1, 2)) * own.shape[1]
            doubt.append(astray.sqrt() / squares.clamp_min(least))
        return Credit(torch.stack(owed, 1), torch.stack(doubt, 1))

    def _columns(self, terms: list[tuple[int, int]]) -> Tensor:
        """Those terms at all points (N, M, K)."""
        columns = [self.column(equation, term, slice(None)) for equation, term in terms]
        return torch.stack(columns, -1) if columns else self.slopes[..., :0]

    def _by_equation(self, rows: Tensor) -> Tensor:
        return rows.unflatten(1, (len(self.open), -1))

    def _best(self, rows: Tensor, basis: Tensor, left: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """The direction (n, M, 1) that explains most of what is left, and the term that brings it."""
        equation, term = divmod(int(self._explained(rows, basis, left).argmax()), self.count)
        return orthonormal(self.column(equation, term, rows)[..., None], basis), (equation, term)

    def _explained(self, rows: Tensor, basis: Tensor, left: Tensor) -> Tensor:
        """Squares (S, K) of what is left beside the basis that each term explains by what it adds to it."""
        terms = self.monomials[rows][:, None]
        along = (self._by_equation(left)[:, :, None] @ terms)[:, :, 0]
        square = terms.square().sum(2)
        own = square - (self._by_equation(basis).mT @ terms).square().sum(2)
        explained = torch.where(own > SAME * square, along.square() / own.clamp_min(1e-300), 0.0)
        return explained.sum(0).nan_to_num(0.0).masked_fill(~self.open[:, None], -1.0)

    def column(self, equation: int, term: int, rows: Tensor | slice) -> Tensor:
        monomial = self.monomials[rows, :, term]
        column = monomial.new_zeros(len(monomial), len(self.open), monomial.shape[1])
        column[:, equation] = monomial
        return column.flatten(1)


def slope(dynamics: Dynamics, times: Tensor, phase: Tensor, inputs: Tensor | None, over: Latents, index: int) -> Tensor:
    """How the physics (..., S, *grid) moves with one parameter."""
    move = torch.zeros_like(over.eps)
    move[..., index] = NUDGE
    more, less = (
        dynamics.known(times, phase, Latents(eps, over.z), inputs) for eps in (over.eps + move, over.eps - move)
    )
    return (more - less) / (2 * NUDGE)


def _variables(dynamics: Dynamics, evidence: Evidence) -> Tensor:
    """Phase, its curves and inputs (N, W, V, *grid) that the residual sees, in units of their spread, from their own
    zero on: so terms are written."""
    phase = evidence.phase / dynamics.scales_spread.reshape(-1, *(1,) * len(dynamics.physics.grid))
    seen = phase[:, :, dynamics.sees_phase > 0]
    seen = torch.cat([seen, dynamics.curved(evidence.phase)], 2) if dynamics.curves else seen
    if evidence.inputs is None:
        return seen
    return variables(seen, (evidence.inputs / dynamics.scales_input_spread)[..., dynamics.sees_inputs > 0])


def orthonormal(columns: Tensor, beside: Tensor | None = None) -> Tensor:
    """An orthonormal basis (N, M, K) of what columns (N, M, K) add to `beside`; what adds nothing becomes zero."""
    basis = columns[..., :0] if beside is None else beside
    first = basis.shape[-1]
    for column in columns.unbind(-1):
        own = column - _onto(basis, column)
        own = own - _onto(basis, own)  # twice is enough for rounding
        size = own.square().sum(1, keepdim=True)
        new = size > SAME * column.square().sum(1, keepdim=True)
        own = torch.where(new, own / size.clamp_min(1e-300).sqrt(), torch.zeros_like(own))
        basis = torch.cat([basis, own[..., None]], -1)
    return basis[..., first:]


def _squares(rows: Tensor) -> float:
    return float(rows.square().sum())


def _onto(basis: Tensor, rows: Tensor) -> Tensor:
    """The part of rows (N, M) that the orthonormal basis (N, M, K) spans."""
    return (basis @ (basis.mT @ rows[..., None]))[..., 0]
