"""The states of an archive in memory, in units of their spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from greymatch.together import integers
from greymatch.weather.archive import Archive
from greymatch.weather.clock import to_times
from greymatch.weather.model.network import WeatherNetwork

_TOGETHER = 64  # states read at once


@dataclass(frozen=True, eq=False)
class States:
    """`values` (N, C, lat, lon) at `hours` (N,) since 2000; `starts` (S,) are places from which `length` follow."""

    values: Tensor
    hours: Tensor
    starts: Tensor
    length: int

    @staticmethod
    def of(archive: Archive, network: WeatherNetwork, length: int) -> States:
        """Read once, a few states at a time, so that no more than the states themselves is held."""
        network.shape.check(archive)
        shape = network.shape
        values = torch.empty(len(archive), len(shape.names), shape.rows, shape.columns)
        hours = torch.empty(len(archive), dtype=torch.float64)
        for first in range(0, len(archive), _TOGETHER):
            part = archive.at(np.arange(first, min(first + _TOGETHER, len(archive))), 1)
            rows = slice(first, first + len(part))
            values[rows] = network.scaling.apply(part.values[:, 0])
            hours[rows] = torch.from_numpy(part.clock.hours[:, 0])
        device = network.center.device
        starts = torch.from_numpy(archive.starts(length))
        return States(values.to(device), hours.to(device), starts.to(device), length)

    @property
    def labels(self) -> np.ndarray:
        """The dates of the states, by which batches are named."""
        return np.datetime_as_string(to_times(self.hours.cpu().numpy()), unit="h")

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """So many of the starts, at random."""
        return self.starts[integers(len(self.starts), (count,), generator, generator.device)]

    def chunk(self, starts: Tensor) -> tuple[Tensor, Tensor]:
        """States (B, length, C, lat, lon) and their hours (B, length)."""
        places = starts[:, None] + torch.arange(self.length, device=starts.device)
        return self.values[places], self.hours[places]
