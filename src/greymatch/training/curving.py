"""Which curves of states a law needs, where products of states come only near it.

Each trajectory is regressed by itself on products of two, on what its parameters can do, and on a curve times one or
any state. What is left at a point is told by all others (leave-one-out), so that it gains nothing to bend along with
noise. The curve that leaves least is taken, and then another, as long as each leaves far less.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.models.curves import AND, BOUNDARIES, SHAPES, Curve, Shape
from greymatch.models.dynamics import Dynamics
from greymatch.models.network import Network
from greymatch.training.factors import LEAST_NOISE, Points
from greymatch.training.law import part_of
from greymatch.training.shown import Shown, Terms

MOST_CURVES = 3
COST = math.log(4.0)  # a curve must leave so much less of the squares
LEAST = math.log(LEAST_NOISE**2)
CELLS = 2**13  # points of all trajectories that are looked at
FIRST_STEP, LAST_STEP, CLEARLY = 1.4, 1.01, 0.01  # by which a scale is changed, and what that must gain
PER_TRAJECTORY = ("phi", "rest", "slopes", "at", "doubt", "seen", "amplitude")
RIDGE, LONELY = 1e-9, 1e-3  # of the squares; and the least part of a point that others do not decide


class Needed(NamedTuple):
    """Few curves or none, and the logarithm of the squares that they leave beside products."""

    curves: tuple[Curve, ...]
    left: float

    @property
    def cost(self) -> float:
        """Of two laws the one with less of it: a curve must leave far less."""
        return self.left + COST * len(self.curves)


@torch.no_grad()
def curves_needed(network: Network, shown: Shown, at: Tensor) -> Needed:
    """With the parameters of trajectories `at` (N, L)."""
    search = Search.of(network, shown, at)
    found, left = (), search.left(())
    while len(found) < MOST_CURVES and search.columns and left > LEAST + COST:
        more = min(search.candidates(found), key=lambda one: search.left((*found, one)))
        curves = search.refined((*found, more))
        after = search.left(curves)
        if not after < left - COST:
            break
        found, left = curves, after
    return Needed(found, left)


@dataclass(frozen=True)
class Search:
    """Points of some trajectories, what may be bent (n, P) by an unscaled curve, and what a curve is multiplied with,
    `factors` (n, P, F)."""

    points: Points
    columns: dict[Curve, Tensor]
    factors: Tensor
    open: list[int]

    @staticmethod
    def of(
        network: Network, shown: Shown, at: Tensor, terms: Terms | None = None, singles: Sequence[int] | None = None
    ) -> Search:
        """Beside all products or some terms, of which `singles` are one thing that is seen, or the constant 1."""
        dynamics, part = network.dynamics, part_of(network)
        points = shown.points(network, part, at, terms)
        some = slice(max(2, CELLS // points.phi.shape[1]))
        return Search(
            points=replace(points, **{name: getattr(points, name)[some] for name in PER_TRAJECTORY}),
            columns={curve: _before(curve, dynamics, shown)[some] for curve in _unscaled(dynamics)},
            factors=points.phi[some][..., list(part.singles if singles is None else singles)],
            open=(dynamics.open > 0).nonzero()[:, 0].tolist(),
        )

    def candidates(self, found: tuple[Curve, ...]) -> Iterator[Curve]:
        """Not those that would be told in the same words as one `found`, as slopes with another boundary."""
        told = {replace(curve, scale=1.0).words for curve in found}
        for curve, column in self.columns.items():
            if curve.words in told:
                continue
            size, shape = float(column.square().mean().sqrt().clamp_min(1e-12)), SHAPES[curve.shape]
            yield from (replace(curve, scale=part * size) for part in shape.scales)
            yield from (curve for _ in range(shape.number))

    def refined(self, curves: tuple[Curve, ...]) -> tuple[Curve, ...]:
        """With better scales, by steps that become smaller; a round number stays unless another is clearly better."""
        step, left = FIRST_STEP, self.left(curves)
        while step > LAST_STEP:
            moved = min(self._moved(curves, step), key=self.left, default=curves)
            after = self.left(moved)
            curves, left, step = (moved, after, step) if after < left - CLEARLY else (curves, left, step**0.5)
        return curves

    def _moved(self, curves: tuple[Curve, ...], step: float) -> Iterator[tuple[Curve, ...]]:
        for place, curve in enumerate(curves):
            if curve.scaled:
                for factor in (step, 1 / step):
                    other = replace(curve, scale=curve.scale * factor)
                    yield (*curves[:place], other, *curves[place + 1 :])

    def left(self, curves: tuple[Curve, ...]) -> float:
        """The logarithm of what is unexplained beside those curves, as squares, of a typical trajectory."""
        design, total = torch.cat([self.points.phi, *map(self.bent, curves)], -1), 0.0
        for equation in self.open:
            total += self._left(torch.cat([self.points.slopes[:, :, equation], design], -1), equation)
        return total / len(self.open)

    def bent(self, curve: Curve) -> Tensor:
        """A curve times one or any state (n, P, F)."""
        return curve.bent(self.columns[replace(curve, scale=1.0)])[..., None] * self.factors

    def sure(self, equation: int) -> Tensor:
        """How much each point (n, P) counts."""
        return (self.points.seen[..., 0] / (LEAST_NOISE**2 + self.points.doubt[..., equation])).sqrt() * LEAST_NOISE

    def target(self, equation: int) -> Tensor:
        """What is to be explained (n, P)."""
        return self.points.rest[..., equation] / self.points.amplitude[..., equation]

    def _left(self, design: Tensor, equation: int) -> float:
        sure = self.sure(equation)
        wrong = left_out(design * sure[..., None], self.target(equation) * sure)
        squares = wrong.square().sum(1) / sure.square().sum(1).clamp_min(1e-300)
        return float((squares + LEAST_NOISE**2).log().mean())


def _unscaled(dynamics: Dynamics) -> Iterator[Curve]:
    """Every shape of all that the residual sees, along every axis, and bends along all of them, with every boundary."""
    physics = dynamics.physics
    visible = [name for name, sees in zip(physics.phase, dynamics.sees_phase.tolist(), strict=True) if sees]
    for name, (shape, kind) in itertools.product(visible, _of_states().items()):
        axes = (*physics.grid, AND.join(physics.grid)) if kind.isotropic and len(physics.grid) > 1 else physics.grid
        ways = list(itertools.product(axes, BOUNDARIES)) if kind.difference else [None]
        yield from (Curve(shape, name, 1.0, way) for way in ways)


def _of_states() -> dict[str, Shape]:
    return {shape: kind for shape, kind in SHAPES.items() if not kind.placed}


def _before(curve: Curve, dynamics: Dynamics, shown: Shown) -> Tensor:
    """What a curve bends (N, P)."""
    place, grid = dynamics.physics.phase.index(curve.of), dynamics.physics.grid
    return shown.columns(dynamics, lambda phase: curve.before(phase[:, :, place], grid)[:, :, None])[..., 0]


def left_out(design: Tensor, target: Tensor, spent: Tensor | float = 0.0) -> Tensor:
    """The error (n, P) of each point by the least squares of all others of its trajectory. What was `spent` (n, P)
    before is a point's own say in what design and target are beside."""
    rows = design / design.square().mean((0, 1)).sqrt().clamp_min(1e-300)
    square = rows.mT @ rows
    size = square.diagonal(dim1=1, dim2=2).mean(1)[:, None, None].clamp_min(1e-12)
    inverse = torch.linalg.inv(square + RIDGE * size * torch.eye(rows.shape[-1], dtype=rows.dtype))
    onto = rows @ inverse
    wrong = target - (onto @ (rows.mT @ target[..., None]))[..., 0]
    return wrong / (1 - spent - (onto * rows).sum(-1)).clamp_min(LONELY)
