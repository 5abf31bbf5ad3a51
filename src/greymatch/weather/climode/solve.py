"""Forecasts by ClimODE: winds inferred at the start, then state and winds together, to all leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from greymatch.simulation.unroll import stage_times, unroll
from greymatch.weather.climode.dynamics import Emitted
from greymatch.weather.climode.winds import inferred_winds

if TYPE_CHECKING:
    from greymatch.weather.model.network import WeatherNetwork


def start_winds(network: WeatherNetwork, past: Tensor) -> Tensor:
    """Those (B, 2 C, lat, lon) with which a forecast starts, in units of `USUAL_WIND`."""
    settings, flips = network.settings, network.dynamics.flips
    return inferred_winds(past, flips, network.shape.hours, network.unit, settings.transport.form, settings.inference)


def solved(network: WeatherNetwork, past: Tensor, hours: Tensor, steps: int) -> Emitted:
    """What is said of the `steps` states after the last of `past` (B, h + 1, C, lat, lon), at `hours` (B,)."""
    settings, step = network.settings, network.shape.hours
    winds = start_winds(network, past)
    times = hours[:, None] + step * torch.arange(1, steps + 1, device=hours.device)
    stages = stage_times(hours, times, settings.transport.substeps)
    both = torch.cat([past[:, -1], winds], 1)
    reached = unroll(lambda t, x, u: network.dynamics(t, x), both, stages, settings.transport.substeps)
    return network.dynamics.emitted(times, reached[:, :, : past.shape[2]], network.unit)
