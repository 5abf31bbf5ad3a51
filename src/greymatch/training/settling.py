"""The end of a run: the field learns from what each trajectory says of itself as a whole.

The encoder knows a window, with errors, and a field that learns from erring latents settles where it forgives them.
Once it has a form, each trajectory is asked through it for the latents that explain all of its motion, and the field
learns on from those; in turns. This is expectation and maximisation, and needs no solver either. Taking turns never
moves parameters and residual together, so in each the parameters also get what the residual owes them (see `credit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from greymatch.data.smoothing import Smoothed
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather, usable
from greymatch.matching.objective import Objective, Sample
from greymatch.models.features import Features
from greymatch.models.laplace import Laplace, Search
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.whole import Recordings, whole_amplitude
from greymatch.training.courses import Course
from greymatch.training.pool import dealt
from greymatch.training.sampler import Sampler

TURNS = 12
LAST_PAYMENT = 4  # turns in which parameters get what they are owed; then the field comes to rest
AFRESH = 3  # turns after which noisy trajectories are smoothed again
POINTS = 48  # of a trajectory
MOST_BATCHES, NUMBERS_AT_ONCE = 16, 2**17  # that are drawn together
FIRST, LATER = Search(), Search(sweeps=2, anew=False)


@dataclass
class Settling:
    """Latents (N, K) of the trajectories that training draws from; those without a window keep zeros."""

    network: Network
    data: Trajectories
    sampler: Sampler
    objective: Objective

    @staticmethod
    def of(network: Network, data: Trajectories, sampler: Sampler, objective: Objective) -> Settling | None:
        """None for what cannot be asked."""
        return Settling(network, data, sampler, objective) if network.prefers_asking else None

    @cached_property
    def _drawn(self) -> Tensor:
        """The trajectories (n,) that have a window."""
        return self._ends.any(1).nonzero()[:, 0]

    @cached_property
    def _ends(self) -> Tensor:
        return usable(self.data, self.network.settings.lengths[-1])

    @cached_property
    def _features(self) -> Features:
        rows, ends = self._drawn, self._ends[self._drawn]
        last = (ends * torch.arange(ends.shape[1], device=ends.device)).amax(1)
        with torch.no_grad():
            return self.network.features(gather(self.data, rows, last, self.network.settings.lengths[-1]))

    @cached_property
    def _recordings(self) -> Recordings:
        return Recordings.of(self.network, self.data.select(self._drawn.cpu()), self._features, POINTS)

    @cached_property
    def _amplitude(self) -> Tensor:
        return whole_amplitude(self.network, self.data)

    def follow(self, course: Tensor | None) -> None:
        """Learn from the trajectories along this course (a packed `Course`) from now on."""
        if course is None:
            return
        taken = Course(*course)
        self.sampler = self.sampler.along(self.data, taken)
        smooth = Smoothed.along(taken.values, taken.doubt)
        rows = self._drawn.cpu()
        self._recordings = Recordings.of(
            self.network, self.data.select(rows), self._features, POINTS, smooth.select(rows)
        )

    def draw(self, settled: Tensor, count: int, generator: torch.Generator, batches: int = 1) -> list[Sample]:
        """Batches from all over the trajectories, with their latents, measured by their whole amplitudes."""
        drawn = self.sampler.draw_whole(batches * count, generator, self._amplitude, settled)
        return dealt(self.objective.posed(drawn, generator), batches)

    def at_once(self, batch: int) -> int:
        """How many batches of this size are worth drawing together: of fields one is large enough."""
        numbers = batch * self.network.settings.matching.points * self.data.values.shape[2:].numel()
        return max(1, min(MOST_BATCHES, NUMBERS_AT_ONCE // numbers))

    def latents(self, before: Tensor | None, turn: int) -> Tensor:
        """As the field has it now, begun with those of the turn before."""
        known = None if before is None else self._told(before[self._drawn])
        law = self._recordings.posterior(self.network, known, LATER if known else FIRST)
        settled = law.mean.new_zeros(len(self.data), law.mean.shape[1])
        settled[self._drawn] = law.mean
        if self.network.credits and turn <= LAST_PAYMENT:
            settled[self._drawn, : law.free] += self._recordings.credit(self.network, law).paid()
        return settled

    def course(self, before: Tensor | None, settled: Tensor) -> Tensor | None:
        """Where noisy trajectories went, as the field has it with these latents; None where there is no noise, or a
        field on a grid."""
        if not self.data.noise or self.data.grid:
            return None
        free = self.network.shapes.free
        known = Course.smoothed(self.data, self.network.physics.order) if before is None else Course(*before)
        return known.along(self.network, self.data, Latents(settled[:, :free], settled[:, free:])).packed()

    def _told(self, mean: Tensor) -> Laplace:
        """What was found before: a place to begin at, of whose spread nothing is kept."""
        count, size = mean.shape
        root = torch.eye(size, dtype=mean.dtype, device=mean.device).expand(count, -1, -1)
        return Laplace(mean, root, mean.new_full((count,), torch.nan), self.network.shapes.free)


def turn(fraction: float, part: float) -> int:
    """Which turn it is when `fraction` of the budget is used and the last `part` of it is for settling: 0 before."""
    if not part or fraction < 1 - part:
        return 0
    return min(TURNS, 1 + int(TURNS * (fraction - 1 + part) / part))
