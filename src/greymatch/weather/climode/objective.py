"""The likelihood of solutions: windows of states, with a solver between them and the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Generator, Tensor, nn

from greymatch.weather.climode.solve import solved
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.sphere import area_weights
from greymatch.weather.training.sampler import Seen
from greymatch.weather.training.states import States


class Window(NamedTuple):
    """States (B, h + 1, ...) up to `began` (B,), and the `truth` (B, T, C, lat, lon) that follows."""

    past: Tensor
    began: Tensor
    truth: Tensor
    rows: Tensor

    @property
    def features(self) -> Seen:
        return Seen(self.past, self.truth)


@dataclass(frozen=True, eq=False)
class Windows:
    """Draws windows from all starts alike."""

    states: States
    given: int

    @property
    def labels(self) -> np.ndarray:
        return self.states.labels

    def draw(self, count: int, generator: Generator) -> Window:
        chosen = self.states.draw(count, generator)
        values, hours = self.states.chunk(chosen)
        return Window(values[:, : self.given], hours[:, self.given - 1], values[:, self.given :], chosen)


class Loss(NamedTuple):
    """`errors` (C,) are mean squares over the sphere, in units of the usual change of each field."""

    total: Tensor
    likelihood: Tensor
    prior: Tensor
    errors: Tensor


class Objective(nn.Module):
    """L = -E[log N(u; mean, std)] + prior std^2, std in units of the usual change, over all states of a window."""

    def __init__(self, network: WeatherNetwork) -> None:
        super().__init__()
        self.network = network

    @property
    def channels(self) -> int:
        return len(self.network.shape.names)

    def counts(self, window: Window) -> None:
        """Every row counts as much."""

    def forward(self, window: Window, noise: Tensor, generator: Generator | None) -> Loss:
        said = solved(self.network, window.past, window.began, window.truth.shape[1])
        usual, weights = self.network.unit * self.network.shape.hours, area_weights(window.truth)
        wrong, std = (window.truth - said.mean) / usual, said.std / usual
        likelihood = ((0.5 * (wrong / std).square() + std.log()) * weights).mean((0, 1, 3, 4)).sum()
        prior = self.network.settings.solving.prior * (std.square() * weights).mean((0, 1, 3, 4)).sum()
        errors = (wrong.square() * weights).mean((0, 1, 3, 4))
        return Loss(likelihood + prior, likelihood.detach(), prior.detach(), errors.detach())
