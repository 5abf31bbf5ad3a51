"""Training batches, drawn on the device without any Python per item."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.objective import Sample
from greymatch.matching.path import AnyPath
from greymatch.models.features import Features
from greymatch.models.network import Network

BANK_BYTES = 2**30
CHUNK = 4096


@dataclass(frozen=True)
class FeatureBank:
    """Features of every window, computed once: they do not depend on what is learned."""

    sequence: torch.Tensor
    summary: torch.Tensor
    amplitude: torch.Tensor

    @staticmethod
    def of(network: Network, windows: Windows) -> FeatureBank:
        numbers = torch.arange(len(windows), device=windows.pairs.device)
        with torch.no_grad():
            parts = [network.features(windows.gather(chunk)) for chunk in numbers.split(CHUNK)]
        return FeatureBank(
            torch.cat([part.sequence for part in parts]),
            torch.cat([part.summary for part in parts]),
            torch.cat([part.amplitude for part in parts]),
        )

    def __getitem__(self, chosen: torch.Tensor) -> Features:
        return Features(self.sequence[chosen], self.summary[chosen], self.amplitude[chosen])


@dataclass(frozen=True)
class Sampler:
    """Draws `Sample`s: windows, their features, and matching points on the interpolated future."""

    network: Network
    windows: Windows
    path: AnyPath
    bank: FeatureBank | None

    @staticmethod
    def of(network: Network, data: Trajectories, path: AnyPath) -> Sampler:
        windows = Windows.of(data, network.settings.window)
        with torch.no_grad():
            one = network.features(windows.gather(torch.zeros(1, dtype=torch.long, device=data.times.device)))
        size = 4 * len(windows) * (one.sequence.numel() + one.summary.numel())
        bank = FeatureBank.of(network, windows) if size <= BANK_BYTES else None
        return Sampler(network, windows, path.to(data.times.device, torch.float32), bank)

    def draw(self, count: int, generator: torch.Generator) -> Sample:
        matching = self.network.settings.matching
        chosen = self.windows.draw(count, generator)
        times = self.windows.future(chosen, matching.points, matching.horizon, generator)
        rows = self.windows.rows(chosen)
        matched = self.path.at(rows, times, generator)
        signals = self.windows.data.inputs
        # an equation may read every state, so none can be matched where any of them is a guess
        sound = self.path.trust(rows, times).all(-1, keepdim=True)
        return Sample(
            features=self._features(chosen),
            matched=matched,
            trusted=self.path.trust(rows, times, self.network.physics.order) & sound,
            inputs=signals.at(rows, times).float() if signals else None,
            rows=rows,
        )

    def _features(self, chosen: torch.Tensor) -> Features:
        if self.bank is not None:
            return self.bank[chosen]
        with torch.no_grad():
            return self.network.features(self.windows.gather(chosen))
