"""Straight lines between observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from greymatch.matching.gaps import check_max_gap
from greymatch.matching.path import Path
from greymatch.matching.piecewise import Floats, piecewise


@dataclass(frozen=True)
class Linear:
    """x(t) = x_k + (t - t_k) (x_k+1 - x_k) / (t_k+1 - t_k): second order in position, first in velocity.

        path = Linear()(times, values, mask)
        point = path.at(rows, query)

    Each state uses its own observed points. `max_gap`, in units of time, is the longest stretch between two
    of them that is trusted; by default 3 of the state's own median steps. Give it for times that come in
    bursts; inf trusts every gap.

    Not for second-order physics (there is no acceleration), nor where the step is long beside the dynamics.
    """

    max_gap: float | None = None

    def __post_init__(self) -> None:
        check_max_gap(self.max_gap)

    @property
    def name(self) -> str:
        return "linear"

    def __call__(self, times: Tensor, values: Tensor, mask: Tensor) -> Path:
        return piecewise(times, values, mask, _expand, 1, self.max_gap)


def _expand(knots: Floats, samples: Floats, about: Floats) -> Floats:
    left = np.searchsorted(knots, about, side="right") - 1
    slope = (samples[left + 1] - samples[left]) / (knots[left + 1] - knots[left])[:, None]
    return np.stack([samples[left] + slope * (about - knots[left])[:, None], slope], axis=1)
