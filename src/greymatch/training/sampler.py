"""Training batches, drawn on the device without any Python per item."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.linear import Linear
from greymatch.matching.objective import Sample
from greymatch.matching.observed import interpolated
from greymatch.matching.path import AnyPath, Path
from greymatch.models.features import Features
from greymatch.models.network import Network
from greymatch.training.courses import Course

BANK_BYTES = 2**30
CHUNK = 4096


@dataclass(frozen=True)
class FeatureBank:
    """Features of every window, computed once: they do not depend on what is learned."""

    features: Features

    @staticmethod
    def of(network: Network, windows: Windows) -> FeatureBank:
        numbers = torch.arange(len(windows), device=windows.pairs.device)
        with torch.no_grad():
            parts = [network.features(windows.gather(chunk)) for chunk in numbers.split(CHUNK)]
        return FeatureBank(Features(*(torch.cat(part) for part in zip(*parts, strict=True))))

    def __getitem__(self, chosen: Tensor) -> Features:
        return Features(*(part.index_select(0, chosen) for part in self.features))


@dataclass(frozen=True)
class Source:
    """Windows of one length, with the bank of their features where it fits in memory."""

    windows: Windows
    bank: FeatureBank | None

    @staticmethod
    def of(network: Network, data: Trajectories, length: int, room: float) -> Source:
        windows = Windows.of(data, length).banked(room)
        with torch.no_grad():
            one = network.features(windows.gather(torch.zeros(1, dtype=torch.long, device=data.times.device)))
        size = 4 * len(windows) * sum(part.numel() for part in one)
        return Source(windows, FeatureBank.of(network, windows) if size <= room else None)

    def features(self, network: Network, chosen: Tensor) -> Features:
        if self.bank is not None:
            return self.bank[chosen]
        with torch.no_grad():
            return network.features(self.windows.gather(chosen))


@dataclass(frozen=True)
class Sampler:
    """Draws `Sample`s: windows, their features, and matching points on the interpolated future.

    Each batch holds windows of one of the settings' lengths, so that short histories are learned too.
    """

    network: Network
    path: AnyPath
    sources: tuple[Source, ...]
    doubt: Path | None = None

    @staticmethod
    def of(network: Network, data: Trajectories, path: AnyPath) -> Sampler:
        lengths = network.settings.lengths
        sources = tuple(Source.of(network, data, length, BANK_BYTES / len(lengths)) for length in lengths)
        smooth = data.smooth
        doubt = None if smooth is None else _along(data, smooth.doubt[..., network.physics.order])
        return Sampler(network, path.to(data.times.device, torch.float32), sources, doubt)

    def along(self, data: Trajectories, course: Course) -> Sampler:
        """The same, with points matched on another course of the trajectories."""
        taken = replace(data, values=course.values.masked_fill(~data.mask, 0.0), noise=()).to("cpu")
        path = interpolated(taken, self.network.settings, self.network.physics.order)
        device = data.times.device
        return replace(self, path=path.to(device, torch.float32), doubt=_along(data, course.doubt))

    @property
    def labels(self) -> np.ndarray:
        """Names of the trajectories that `Sample.rows` number."""
        return self.sources[0].windows.data.labels

    def draw(self, count: int, generator: torch.Generator) -> Sample:
        """Windows, to be matched in themselves and in their future."""
        matching = self.network.settings.matching
        which = torch.randint(len(self.sources), (), generator=generator, device=generator.device)
        source = self.sources[int(which)]
        chosen = source.windows.draw(count, generator)
        times = source.windows.future(chosen, matching.points, matching.horizon, generator)
        if matching.past:
            times = torch.cat([source.windows.within(chosen, matching.past, generator), times], 1)
        return self._sample(
            source, source.windows.rows(chosen), times, source.features(self.network, chosen), generator
        )

    def draw_whole(self, count: int, generator: torch.Generator, amplitude: Tensor, settled: Tensor) -> Sample:
        """Trajectories, each as often as it has windows, to be matched all over; `amplitude` and latents are those of
        all of them."""
        matching, source = self.network.settings.matching, self.sources[-1]
        chosen = source.windows.draw(count, generator)
        rows = source.windows.rows(chosen)
        times = source.windows.anywhere(rows, matching.points, generator)
        features = Features.measured(amplitude.index_select(0, rows))
        sample = self._sample(source, rows, times, features, generator)
        return sample._replace(settled=settled.index_select(0, rows))

    def _sample(
        self, source: Source, rows: Tensor, times: Tensor, features: Features, generator: torch.Generator
    ) -> Sample:
        signals = source.windows.data.inputs
        # an equation may read every state, so none can be matched where any of them is a guess
        order, spot = self.network.physics.order, self.path.located(rows, times)
        trusted = self.path.trust(rows, times, order, spot)
        sound = (trusted if order == 1 else self.path.trust(rows, times, spot=spot)).all(-1, keepdim=True)
        return Sample(
            features=features,
            matched=self.path.at(rows, times, generator, spot),
            trusted=trusted & sound,
            inputs=signals.at(rows, times).float() if signals else None,
            rows=rows,
            doubt=None if self.doubt is None else self.doubt.position(rows, times),
        )


def _along(data: Trajectories, size: Tensor) -> Path:
    """A path through a size (N, T, S, *grid), as its mean square over the grid has it."""
    size = size.flatten(3).square().mean(3).sqrt() if size.ndim > 3 else size
    everywhere = data.times.isfinite()[..., None].expand_as(size)
    return Linear()(data.times, size * everywhere, everywhere).to(data.times.device, torch.float32)
