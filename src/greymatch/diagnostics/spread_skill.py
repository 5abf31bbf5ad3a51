"""Spread against skill: where an ensemble is wide, is it as wrong as it is wide?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

BINS = 10


@dataclass(frozen=True)
class SpreadSkill:
    """Root mean squares of the `spread` and of the error of the mean, the `skill`, in groups of rising spread (B,).

    `ratio` is that of all together, `total_spread` over `total_skill`. Both rise alike where the spread tells errors
    apart; a level skill says that it does not, whatever the ratio.
    """

    spread: np.ndarray
    skill: np.ndarray
    total_spread: float
    total_skill: float

    @property
    def ratio(self) -> float:
        """1 if the spread is right on average; NaN for no error at all."""
        return self.total_spread / self.total_skill if self.total_skill else math.nan


def spread_skill(variance: Tensor, square: Tensor, bins: int = BINS) -> SpreadSkill:
    """From the variance (M,) that the error should have and its square (M,); groups of equal size, at most `bins`.

    Points at which no draw is left have an infinite square, and so an infinite error and a ratio of 0.
    """
    order = variance.argsort(stable=True)
    groups = [group for group in order.tensor_split(bins) if len(group)]
    spread, skill = (np.array([_root(part[group]) for group in groups]) for part in (variance, square))
    return SpreadSkill(spread, skill, _root(variance), _root(square))


def _root(squares: Tensor) -> float:
    return float(squares.mean().sqrt())
