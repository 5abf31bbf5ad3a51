"""Training batches of consecutive observations, for methods that name the next one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.matching.next_point import Pair
from greymatch.models.network import Network
from greymatch.training.sampler import BANK_BYTES, Source


@dataclass(frozen=True)
class Pairs:
    """Draws `Pair`s from anywhere in the trajectories, each batch with histories of one length.

    `after` (N, T) is the index of the next point at which anything is observed, `steps` (N, T) how far it is, `ahead`
    (N, T, 2, U) are the inputs on the way; `values` (N, T, S, *grid) are in units of the spread.
    """

    network: Network
    sources: tuple[Source, ...]
    after: Tensor
    steps: Tensor
    ahead: Tensor
    values: Tensor

    @staticmethod
    def of(network: Network, data: Trajectories) -> Pairs:
        points, scales = network.settings.memory.points, network.scales
        lengths = _lengths(data, points, network.settings.lengths)
        sources = tuple(Source.of(network, data, length, BANK_BYTES / len(lengths)) for length in lengths)
        center, spread = (part.reshape(-1, *(1,) * len(data.grid)) for part in (scales.center, scales.spread))
        after = _after(data)
        steps = ((data.times.gather(1, after) - data.times) / scales.step).nan_to_num(0.0).float()
        values = ((data.values - center) / spread).float()
        pairs = Pairs(network, sources, after, steps, _ahead(data, after, scales), values)
        network.next_point.shortest.copy_(pairs.shortest())
        return pairs

    @property
    def labels(self) -> np.ndarray:
        return self.sources[0].windows.data.labels

    def shortest(self) -> Tensor:
        """The least interval to the next observation, in typical steps, and never more than one."""
        windows = self.sources[-1].windows
        return self.steps[windows.pairs.unbind(1)].min().clamp(max=1.0)

    def draw(self, count: int, generator: torch.Generator) -> Pair:
        which = torch.randint(len(self.sources), (), generator=generator, device=generator.device)
        source = self.sources[int(which)]
        chosen = source.windows.draw(count, generator)
        rows, ends = source.windows.pairs[chosen].unbind(1)
        after = self.after[rows, ends]
        return Pair(
            features=source.features(self.network, chosen),
            target=self.values[rows, after],
            seen=source.windows.data.mask[rows, after],
            steps=self.steps[rows, ends],
            ahead=self.ahead[rows, ends],
            rows=rows,
        )


def _ahead(data: Trajectories, after: Tensor, scales: Scales) -> Tensor:
    """Inputs (N, T, 2, U) in the middle and at the end of the interval that starts at each point."""
    if data.inputs is None:
        return torch.zeros(*after.shape, 2, 0, device=after.device)
    clock = torch.where(data.times.isfinite(), data.times, data.times[:, :1])  # what follows the last point is not used
    end = clock.gather(1, after)
    times = torch.stack([0.5 * (clock + end), end], 2)
    rows = torch.arange(len(data), device=after.device)
    inputs = data.inputs.at(rows, times.flatten(1)).reshape(*times.shape, -1)
    return scales.of_inputs(inputs.float())


def _lengths(data: Trajectories, points: int, windows: tuple[int, ...]) -> list[int]:
    """Lengths of the histories that fill a memory of `points`, longest first.

    The shorter they are, the earlier a pair may stand; where observations are missing, only the windows that
    forecasts start with hold as many as the memory does.
    """
    wanted = {min(length, points) for length in windows}
    gaps = ~data.mask.flatten(2).all(2) & data.times.isfinite()
    return sorted(wanted | set(windows) if bool(gaps.any()) else wanted, reverse=True)


def _after(data: Trajectories) -> Tensor:
    """Index (N, T) of the next point at which any state is observed; the last one has none and names itself."""
    seen = data.mask.flatten(2).any(2)
    count = seen.shape[1]
    index = torch.where(seen, torch.arange(count, device=seen.device), count - 1)
    here = index.flip(1).cummin(1).values.flip(1)
    return torch.cat([here[:, 1:], here[:, -1:]], 1)
