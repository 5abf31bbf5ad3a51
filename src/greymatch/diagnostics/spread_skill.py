"""Spread against skill: where an ensemble is wide, is it as wrong as it is wide?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

BINS = 10


@dataclass(frozen=True)
class SpreadSkill:
    """Root mean squares of the `spread` and of the error of the mean, the `skill`, in groups of rising spread (B,).

    `ratio` is that of all together. Both rise alike where the spread tells errors apart; a level skill says that
    it does not, whatever the ratio.
    """

    spread: np.ndarray
    skill: np.ndarray
    ratio: float


def spread_skill(variance: Tensor, square: Tensor, bins: int = BINS) -> SpreadSkill:
    """From the variance (M,) that the error should have and its square (M,); groups of equal size, at most `bins`.

    Points at which no draw is left have an infinite square, and so an infinite error and a ratio of 0.
    """
    order = variance.argsort(stable=True)
    groups = [group for group in order.tensor_split(bins) if len(group)]
    spread, skill = (np.array([float(part[group].mean().sqrt()) for group in groups]) for part in (variance, square))
    total = float(square.mean())
    return SpreadSkill(spread, skill, float((variance.mean() / total).sqrt()) if total else np.nan)
