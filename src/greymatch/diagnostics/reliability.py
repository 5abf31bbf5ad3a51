"""`Reliability`: how one quantity's draws compare with its truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from greymatch.diagnostics.points import Points
from greymatch.diagnostics.spread_skill import SpreadSkill, spread_skill
from greymatch.diagnostics.uniformity import band, chance, distance
from greymatch.errors import GreymatchError

LEVELS = (*(round(0.05 * i, 2) for i in range(1, 20)), 0.99)
TOLD = (0.5, 0.8, 0.9, 0.95)
BINS, EDGES = 20, 41


@dataclass(frozen=True, eq=False)
class Reliability:
    """Coverage of central intervals at `levels`, the PIT, CRPS, and spread against skill.

    `coverage[i]` is the share of truths in the interval of `levels[i]`: equal to it if the draws are honest, and NaN
    where so few draws reach no such level, (draws - 1) / (draws + 1) being the highest. `below` is the share of the
    PIT, the rank over the draws, below edges evenly spaced from 0 to 1. `independent` is as how many independent values
    the truths count: each trajectory is one at most.
    """

    levels: tuple[float, ...]
    coverage: np.ndarray
    below: np.ndarray
    crps: float
    spread_skill: SpreadSkill
    values: int
    independent: float
    draws: int

    @staticmethod
    def of(points: Points, levels: tuple[float, ...] = LEVELS) -> Reliability:
        draws = int(points.count.max()) if len(points) else 0
        reach = (draws - 1) / (draws + 1) + 1e-9
        covered = [float(points.ranks.covered(level).mean()) if level <= reach else math.nan for level in levels]
        left = points.select(points.count > 0)
        edges = torch.linspace(0, 1, EDGES, dtype=torch.float64, device=left.row.device)
        below = [float(left.ranks.below_share(edge[None]).mean()) for edge in edges]
        return Reliability(
            levels=levels,
            coverage=np.array(covered),
            below=np.array(below),
            crps=float(points.crps.mean()),
            spread_skill=spread_skill(points.expected, points.square),
            values=len(points),
            independent=points.independent,
            draws=draws,
        )

    def at(self, level: float) -> float:
        """The coverage of one of `levels`."""
        if level not in self.levels:
            raise GreymatchError(f"`level` must be one of {list(self.levels)}; got {level!r}.")
        return float(self.coverage[self.levels.index(level)])

    def scatter(self, level: float) -> float:
        """The standard deviation that chance alone gives an honest coverage."""
        return math.sqrt(level * (1 - level) / max(1.0, self.independent))

    def histogram(self, bins: int = BINS) -> np.ndarray:
        """Shares (bins,) of the PIT, 1 / bins each if the draws are honest; `bins` must divide 40."""
        return np.diff(self.below[:: (EDGES - 1) // bins])

    def band(self, bins: int = BINS) -> tuple[float, float]:
        """Between which shares all bins lie at once in 95 of 100 cases, if the draws are honest."""
        return band(bins, self.independent)

    @property
    def uniformity(self) -> float:
        """How often honest draws show ranks as far from uniform as these: small is bad."""
        return chance(distance(self.below), self.independent) if self.draws > 1 else math.nan

    @property
    def above(self) -> float:
        """The share of truths above the median of their draws: 0.5 if nothing pulls to one side."""
        return float(1 - self.below[(EDGES - 1) // 2])

    def to_dict(self) -> dict[str, Any]:
        """The figures that fit in a line."""
        return {
            "coverage": [self.at(level) for level in TOLD],
            "crps": self.crps,
            "spread_skill": self.spread_skill.ratio if self.draws > 1 else math.nan,
            "uniformity": self.uniformity,
            "above_median": self.above,
        }
