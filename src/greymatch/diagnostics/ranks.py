"""Where a truth stands among its draws: coverage, ranks and the PIT all follow from that."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Ranks:
    """How many draws lie `below` each truth, how many are `equal` to it, and how many there are: `count`.

    Every draw counts alike, a central one too. Draws that are NaN are none. Where truth and draws are drawn alike,
    the rank, `below` to `below + equal`, is uniform on 0..count: simulation-based calibration.
    """

    below: Tensor
    equal: Tensor
    count: Tensor

    @staticmethod
    def of(draws: Tensor, truth: Tensor) -> Ranks:
        """Of `truth` (...) among `draws` (D, ...)."""
        return Ranks((draws < truth).sum(0), (draws == truth).sum(0), (~draws.isnan()).sum(0))

    def covered(self, level: float) -> Tensor:
        """1 where the truth lies in the central interval of the draws, 0 elsewhere.

        The bounds stand at rank k = (n + 1) (1 - level) / 2 from either end, so that a truth drawn as the n draws
        were is covered with probability `level`; of the two ranks next to a fractional k each has its weight.
        Fewer draws than 2 / (1 - level) - 1 cannot reach the level: their extremes are the bounds.
        """
        depth = torch.minimum(self.below + self.equal, self.count - self.below)
        rank = ((1 - level) / 2 * (self.count + 1).double()).clamp_min(1)
        weight = rank - rank.floor()
        return (1 - weight) * (depth >= rank.floor()) + weight * (depth > rank.floor())

    def below_share(self, edges: Tensor) -> Tensor:
        """How much of each truth's PIT (M,) lies below each of `edges` (E,): (E, M).

        n draws tell the PIT only up to the interval [below, below + equal + 1] / (n + 1). It is spread evenly over
        that, so that nothing is left to chance and few draws show no teeth.
        """
        low = self.below / (self.count + 1)
        width = (self.equal + 1) / (self.count + 1)
        return ((edges[:, None] - low) / width).clamp(0, 1)
