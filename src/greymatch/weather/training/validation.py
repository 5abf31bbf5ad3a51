"""Weights are chosen by forecasts in the validation years."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.model.rollout import roll_out
from greymatch.weather.sphere import area_weights
from greymatch.weather.training.states import States

STEPS, MOST_STARTS, WORST = 7, 16, 1e3


@dataclass(frozen=True)
class ForecastError:
    """Mean squares over starts, leads and the sphere, relative to the spread (`mse`) and to the usual change."""

    mse: float
    scaled: float


@dataclass(frozen=True, eq=False)
class Validator:
    """Forecasts from starts spread over the archive: given states (B, h + 1, ...), then `truth` (B, steps, ...)."""

    given: Tensor
    hours: Tensor
    truth: Tensor

    @staticmethod
    def of(archive: Archive, network: WeatherNetwork) -> Validator:
        given = network.settings.net.history + 1
        if len(archive) < given + STEPS:
            raise GreymatchError(
                f"`validation` must hold at least {given + STEPS} states in a row; {archive.where} has {len(archive)}."
            )
        states = States.of(archive, network, given + STEPS)
        places = torch.linspace(0, len(states.starts) - 1, min(MOST_STARTS, len(states.starts))).long()
        values, hours = states.chunk(states.starts[places.to(states.starts.device)])
        return Validator(values[:, :given], hours[:, given - 1], values[:, given:])

    def choose(self, network: WeatherNetwork) -> ForecastError:
        """The error of forecasts as the network is now; one that is lost counts as very wrong."""
        found = roll_out(network, self.given, self.hours, self.truth.shape[1])
        wrong = (found - self.truth).nan_to_num(WORST, WORST, WORST).clamp(-WORST, WORST)
        square = (wrong.square() * area_weights(wrong)).mean((0, 1, 3, 4))
        relative = square * (network.spread / network.change).square()
        return ForecastError(float(square.mean()), float(relative.mean()))
