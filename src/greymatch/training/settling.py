"""The end of a run: the field learns from what each trajectory says of itself as a whole.

The encoder knows a window, with errors, and a field that learns from erring latents settles where it forgives them.
Once it has a form, each trajectory is asked through it for the latents that explain all of its motion, and the field
learns on from those; in turns. This is expectation and maximisation, and needs no solver either.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import usable
from greymatch.matching.objective import Sample
from greymatch.models.laplace import Laplace, Search
from greymatch.models.network import Network
from greymatch.models.whole import whole
from greymatch.training.sampler import Sampler

TURNS = 6
POINTS = 48  # of a trajectory
LATER = Search(sweeps=2, anew=False, points=POINTS)
FIRST = Search(points=POINTS)


@dataclass(frozen=True)
class Settling:
    """Latents (N, K) of the trajectories that training draws from; those without a window keep zeros."""

    network: Network
    data: Trajectories
    sampler: Sampler

    @staticmethod
    def of(network: Network, data: Trajectories, sampler: Sampler) -> Settling | None:
        """None for what cannot be asked."""
        return Settling(network, data, sampler) if network.prefers_asking else None

    def draw(self, settled: Tensor, count: int, generator: torch.Generator) -> Sample:
        """A batch from all over the trajectories, with their latents."""
        sample = self.sampler.draw_whole(count, generator)
        return sample._replace(settled=self._told(settled[sample.rows]).latents())

    def latents(self, before: Tensor | None) -> Tensor:
        """As the field has it now, begun with those of the turn before."""
        drawn = usable(self.data, self.network.settings.lengths[-1]).any(1)
        rows = drawn.nonzero()[:, 0]
        known = None if before is None else self._told(before[rows])
        found = whole(self.network, self.data.select(rows.cpu()), known, LATER if known else FIRST)
        settled = found.mean.new_zeros(len(drawn), found.mean.shape[1])
        settled[rows] = found.mean
        return settled

    def _told(self, mean: Tensor) -> Laplace:
        """What was found before: a place to begin at, of whose spread nothing is kept."""
        count, size = mean.shape
        root = torch.eye(size, device=mean.device).expand(count, -1, -1)
        return Laplace(mean, root, mean.new_full((count,), torch.nan), self.network.shapes.free)


def turn(fraction: float, part: float) -> int:
    """Which turn it is when `fraction` of the budget is used and the last `part` of it is for settling: 0 before."""
    if not part or fraction < 1 - part:
        return 0
    return min(TURNS, 1 + int(TURNS * (fraction - 1 + part) / part))
