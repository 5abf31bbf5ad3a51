"""Training batches for a solver in the loop: windows, and the observations that follow them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, Windows
from greymatch.errors import GreymatchError
from greymatch.models.network import Network
from greymatch.simulation.objective import Course, Segment
from greymatch.simulation.start import Start
from greymatch.simulation.unroll import stage_times
from greymatch.together import integers
from greymatch.training.sampler import BANK_BYTES, Source
from greymatch.training.simulations import Simulations, past_course


@dataclass(frozen=True)
class Segments:
    """Draws `Segment`s: windows anywhere in a trajectory, each with the next `simulation.points` observations.

    Each starts as every forecast does: at the window's last point, with the velocity that the window shows there.
    PhysVAE asks for more: `simulations` by the physics, and the window's own course.
    """

    network: Network
    sources: tuple[Source, ...]
    startable: tuple[Tensor, ...]
    simulations: tuple[Simulations, ...]

    @staticmethod
    def of(network: Network, data: Trajectories, regularised: bool) -> Segments:
        lengths = network.settings.lengths
        sources = tuple(Source.of(network, data, length, BANK_BYTES / len(lengths)) for length in lengths)
        startable = tuple(_startable(source.windows, network.physics.order) for source in sources)
        kinds = sources if regularised else ()
        simulations = tuple(Simulations.of(network, source.windows, len(lengths)) for source in kinds)
        return Segments(network, sources, startable, simulations)

    @property
    def labels(self) -> np.ndarray:
        """Names of the trajectories that `Segment.rows` number."""
        return self.sources[0].windows.data.labels

    def draw(self, count: int, generator: torch.Generator) -> Segment:
        which = int(torch.randint(len(self.sources), (), generator=generator, device=generator.device))
        source, numbers = self.sources[which], self.startable[which]
        chosen = numbers[integers(len(numbers), (count,), generator, generator.device)]
        rows, window = source.windows.rows(chosen), source.windows.gather(chosen)
        return Segment(
            features=source.features(self.network, chosen),
            future=self._future(source.windows, chosen, window),
            rows=rows,
            past=past_course(self.network, source.windows, rows, window) if self.simulations else None,
            simulated=self.simulations[which].draw(count, generator) if self.simulations else None,
        )

    def _future(self, windows: Windows, chosen: Tensor, window: Window) -> Course:
        """The next observations; where a trajectory ends before them, nothing is asked."""
        settings, data = self.network.settings.simulation, windows.data
        rows, ends = windows.pairs[chosen].unbind(1)
        index = ends[:, None] + torch.arange(1, settings.points + 1, device=ends.device)
        there = index < data.times.shape[1]
        at = (rows[:, None], index.clamp_max(data.times.shape[1] - 1))
        times = data.times[at].masked_fill(~there, torch.inf)
        mask = data.mask[at] & times.isfinite().reshape(*times.shape, *(1,) * (data.mask.ndim - 2))
        start = Start.of(window, self.network.physics.order)
        stages = stage_times(start.time, times, settings.substeps)
        return Course.of(start, stages, data.inputs, rows, data.values[at], mask)


def _startable(windows: Windows, order: int) -> Tensor:
    """Numbers of the windows that show enough of every state to start from: two observations where order is 2."""
    count = windows.data.mask.flatten(2).int().cumsum(1)
    before = torch.zeros_like(count)
    before[:, windows.length :] = count[:, : -windows.length]
    enough = ((count - before) >= order).all(2)
    numbers = enough[windows.pairs[:, 0], windows.pairs[:, 1]].nonzero()[:, 0]
    if not len(numbers):
        raise GreymatchError(
            f"`data` must hold a window of {windows.length} points that shows every state {order} times, to start a "
            "solution from; none does. Set a larger `window`, or a method that matches."
        )
    return numbers
