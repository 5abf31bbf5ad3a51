"""Polynomials through the nearest observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.gaps import check_max_gap
from greymatch.matching.path import Path
from greymatch.matching.piecewise import Floats, Indices, piecewise

_TIE = 1 - 1e-9


@dataclass(frozen=True)
class Lagrange:
    """x(t) = sum_j x_j prod_m (t - t_m) / (t_j - t_m) over the n points nearest to each interval.

        path = Lagrange(points=5)(times, values, mask)
        point = path.at(rows, query)
        point.acceleration                       # None for two points

    The points are centred on the interval inside a trajectory and one-sided at its ends; an odd n takes its
    last point from the nearer side. Order n in position, n-1 in velocity, n-2 in acceleration. Each state
    uses its own observed points, and all of them when they are fewer than n. `max_gap` as in `Linear`.

    Not for noisy data, nor many points on uneven times: the ends swing. The velocity jumps at observations;
    a `Spline` does not.
    """

    points: int
    max_gap: float | None = None

    def __post_init__(self) -> None:
        check_max_gap(self.max_gap)
        if not isinstance(self.points, int) or self.points < 2:
            raise GreymatchError(f"`points` must be a whole number from 2; got {self.points!r}. Try 5.")

    @property
    def name(self) -> str:
        return f"lagrange-{self.points}"

    def __call__(self, times: Tensor, values: Tensor, mask: Tensor) -> Path:
        return piecewise(times, values, mask, self._expand, self.points - 1, self.max_gap)

    def _expand(self, knots: Floats, samples: Floats, about: Floats) -> Floats:
        points = min(self.points, len(knots))
        stencil = _starts(knots, about, points)[:, None] + np.arange(points)
        return _basis(knots[stencil] - about[:, None]).swapaxes(1, 2) @ samples[stencil]


def _starts(knots: Floats, about: Floats, points: int) -> Indices:
    """The first of the points for the interval that holds each time."""
    left = np.searchsorted(knots, about, side="right") - 1
    start = left - (points - 1) // 2
    if points % 2:
        start = start + _next_is_nearer(knots, left, start, points)
    return np.clip(start, 0, len(knots) - points)


def _next_is_nearer(knots: Floats, left: Indices, start: Indices, points: int) -> Indices:
    middle = (knots[left] + knots[left + 1]) / 2
    behind = middle - knots[np.maximum(start, 0)]
    ahead = knots[np.minimum(start + points, len(knots) - 1)] - middle
    return (ahead < behind * _TIE).astype(np.intp)


def _basis(nodes: Floats) -> Floats:
    """Power coefficients (about, node, power) of the polynomials that are 1 at one node and 0 at others."""
    points = nodes.shape[1]
    basis = np.zeros((*nodes.shape, points))
    basis[..., 0] = 1.0
    for m in range(points):
        others = np.arange(points) != m
        old = basis[:, others]
        new = -nodes[:, m, None, None] * old
        new[..., 1:] += old[..., :-1]
        basis[:, others] = new / (nodes[:, others] - nodes[:, m, None])[..., None]
    return basis
