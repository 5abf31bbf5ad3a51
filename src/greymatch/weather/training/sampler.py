"""Batches: two states in a row, a point on the path between them, and what came before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from greymatch.matching.bridge import BridgePath
from greymatch.matching.path import Matched, Path
from greymatch.together import uniform
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.training.states import States


class Seen(NamedTuple):
    """What is known at a point: the past, and where the path is."""

    sequence: Tensor
    summary: Tensor


class Sample(NamedTuple):
    """Points (B, 1, C, lat, lon) on the ways from the last of `past` (B, h + 1, C, lat, lon), at `began` (B,).

    `recalled` (B, C, lat, lon) is what the past says, where that is known beforehand.
    """

    past: Tensor
    began: Tensor
    matched: Matched
    rows: Tensor
    recalled: Tensor | None = None

    @property
    def features(self) -> Seen:
        return Seen(self.past, self.matched.position)


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws `Sample`s at random moments between states; `recalled` (N, C, lat, lon) is of the windows at each state."""

    network: WeatherNetwork
    states: States
    recalled: Tensor | None = None

    @property
    def labels(self) -> np.ndarray:
        """The dates of the states that `Sample.rows` number."""
        return self.states.labels

    def draw(self, count: int, generator: torch.Generator) -> Sample:
        device, chosen = generator.device, self.states.draw(count, generator)
        values, hours = self.states.chunk(chosen)
        part = uniform((count, 1), generator, chosen, torch.float64)
        times = torch.lerp(hours[:, -2:-1], hours[:, -1:], part)
        rows = torch.arange(count, device=device)
        matched = self._matched(values[:, -2:], hours[:, -2:], rows, times, generator)
        recalled = None if self.recalled is None else self.recalled[chosen]
        return Sample(values[:, :-1], hours[:, -2], matched, chosen, recalled)

    def _matched(self, pair: Tensor, hours: Tensor, rows: Tensor, times: Tensor, generator: torch.Generator) -> Matched:
        settings, line = self.network.settings.matching, straight(pair, hours)
        if not settings.sigma:
            return line.at(rows, times)
        sigma = settings.sigma * self.network.unit.flatten() * self.network.shape.hours**0.5
        since = torch.zeros_like(line.coefficients[:, :, 0, :, :1, :1])
        until = since + (hours[:, 1] - hours[:, 0]).to(since)[:, None, None, None, None]
        bridge = BridgePath(line, since, until, sigma, "drift" if settings.velocity == "drift" else "flow")
        found = bridge.at(rows, times, generator)
        return found if settings.velocity != "mean" else found._replace(velocity=line.at(rows, times).velocity)


def straight(pair: Tensor, hours: Tensor) -> Path:
    """The straight ways between pairs of states (B, 2, C, lat, lon) at `hours` (B, 2)."""
    slope = (pair[:, 1] - pair[:, 0]) / (hours[:, 1] - hours[:, 0]).to(pair)[:, None, None, None]
    trusted = torch.ones(len(pair), 1, pair.shape[2], dtype=torch.bool, device=pair.device)
    return Path(hours, torch.stack([pair[:, 0], slope], 1)[:, None], trusted)
