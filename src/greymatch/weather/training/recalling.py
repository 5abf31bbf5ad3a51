"""What the past says, found once for all training states where each will be asked of it often enough."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from greymatch.settings import TrainingSettings
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.training.sampler import Sampler
from greymatch.weather.training.states import States

TOGETHER = 32  # windows at once
A_MINUTE = 900  # pairs that are learned from, at least, on a processor as of 2020
OFTEN = 0.4  # times that each window is drawn; it costs a quarter of what it saves then


def recalling(sampler: Sampler, training: TrainingSettings) -> Sampler:
    """One that knows what the pasts say, if that is worth it."""
    if not worth_it(training, len(sampler.states.starts)):
        return sampler
    return replace(sampler, recalled=recalled(sampler.network, sampler.states))


def worth_it(training: TrainingSettings, windows: int) -> bool:
    """By the budget alone, and not by the clock, so that a run that goes on does as before."""
    by_steps = (training.steps or 0) * training.batch
    return max(by_steps, A_MINUTE * (training.minutes or 0)) > OFTEN * windows


@torch.no_grad()
def recalled(network: WeatherNetwork, states: States) -> Tensor:
    """`Dynamics.recalled` (N, C, lat, lon) of the windows that begin at each state; as much memory as states take."""
    outset, usual = network.dynamics.outset, network.unit * network.shape.hours
    found, history = torch.zeros_like(states.values), outset.history
    for first in range(0, len(found) - history, TOGETHER):
        some = states.values[first : first + TOGETHER + history]
        found[first : first + len(some) - history] = outset.said_along(some, some.diff(dim=0) / usual)
    return found
