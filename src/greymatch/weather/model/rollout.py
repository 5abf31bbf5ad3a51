"""Forecasts by the learned field: from state to state, the past shifted by each that is reached."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.simulation.unroll import DrivenField, stage_times, unroll
from greymatch.weather.climode.solve import solved
from greymatch.weather.halves import computes_in_half
from greymatch.weather.model.network import WeatherNetwork


def roll_out(network: WeatherNetwork, states: Tensor, hours: Tensor, steps: int, noise: Tensor | None = None) -> Tensor:
    """States (B, steps, C, lat, lon) after the last of `states` (B, h + 1, C, lat, lon), which is at `hours` (B,).

    All are in units of spread. Steps are fixed: the field's winds are bounded so that these are stable. What would
    leave the range of the training years is held at its fence, and a value that is no number is so for good. `noise`
    (B, latents, lat, lon) draws the latents, one draw for all of a forecast; without it they are their means.
    """
    device = states.device.type
    half = network.settings.training.precision == "bf16-mixed" and computes_in_half(device)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=half):
        if network.settings.method == "climode":
            return network.fenced(solved(network, states, hours, steps).mean)
        return _stepwise(network, states, hours, steps, noise)


def _stepwise(network: WeatherNetwork, states: Tensor, hours: Tensor, steps: int, noise: Tensor | None) -> Tensor:
    step, substeps, found = network.shape.hours, network.settings.transport.substeps, []
    for _ in range(steps):
        end = hours + step
        stages = stage_times(hours, end[:, None], substeps)
        reached = network.fenced(unroll(_field(network, states, hours, noise), states[:, -1], stages, substeps))
        found.append(reached[:, 0])
        states, hours = torch.cat([states[:, 1:], reached], 1), end
    return torch.stack(found, 1)


def _field(network: WeatherNetwork, past: Tensor, began: Tensor, noise: Tensor | None) -> DrivenField:
    recalled = network.dynamics.recalled(past, network.unit)

    def field(hours: Tensor, state: Tensor, inputs: Tensor | None) -> Tensor:
        return network.rate(hours, state, past, began, noise, recalled).total

    return field
