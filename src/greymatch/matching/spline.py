"""Smooth splines through all observations of a trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from scipy.interpolate import make_interp_spline
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.gaps import check_max_gap
from greymatch.matching.path import Path
from greymatch.matching.piecewise import Floats, piecewise

_NAMES = {3: "cubic", 5: "quintic"}


@dataclass(frozen=True)
class Spline:
    """The spline of degree d through all points: d-1 continuous derivatives, not-a-knot ends.

        path = Spline(degree=5)(times, values, mask)
        point = path.at(rows, query)
        point.velocity, point.acceleration

    Order d+1 in position, d in velocity, d-1 in acceleration. Each state uses its own observed points; with
    too few of them (fewer than 6 for 5, fewer than 4 for 3) the degree falls to 3, then to 1, where the
    acceleration is zero: `path.trust(rows, times, order=2)` leaves those out. `max_gap` as in `Linear`.

    Not for noisy data, which it follows point by point, nor across jumps, around which it rings.
    """

    degree: int = 3
    max_gap: float | None = None

    def __post_init__(self) -> None:
        check_max_gap(self.max_gap)
        if self.degree not in _NAMES:
            raise GreymatchError(f"`degree` must be 3 or 5; got {self.degree!r}. For 1 use Linear().")

    @property
    def name(self) -> str:
        return _NAMES[self.degree]

    def __call__(self, times: Tensor, values: Tensor, mask: Tensor) -> Path:
        return piecewise(times, values, mask, self._expand, self.degree, self.max_gap)

    def _expand(self, knots: Floats, samples: Floats, about: Floats) -> Floats:
        degree = max(d for d in (1, 3, 5) if d <= self.degree and d < len(knots))
        spline = make_interp_spline(knots, samples, k=degree)
        return np.stack([spline(about, nu=k) / factorial(k) for k in range(degree + 1)], axis=1)
