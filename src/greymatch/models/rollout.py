"""Forecasting with a network: latents fixed, the field solved from the last observation on."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.data.windows import Window
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.simulation.solve import Solution, solve
from greymatch.simulation.start import start_phase


def roll_out(
    network: Network,
    window: Window,
    latents: Latents,
    times: Tensor,
    signals: Signals | None = None,
    tolerance: float = 1e-5,
) -> Solution:
    """States (B, T, S, *grid) at `times` (B, T), one member per window and its latents.

    The tolerance is relative to each state's own spread, whatever its units.
    """
    physics = network.physics
    rows = torch.arange(len(times), device=times.device)
    axes = len(physics.grid)
    _, spread = network.scales.phase(physics.order)
    unit = spread.reshape(*spread.shape, *(1,) * axes)
    start = start_phase(window, physics.order).float() / unit

    def field(t: Tensor, scaled: Tensor) -> Tensor:
        u = signals.at(rows, t[:, None])[:, 0].float() if signals else None
        return network.dynamics.velocity(t.float(), scaled * unit, latents, u) / unit

    solution = solve(field, start, window.end, times, tolerance)
    states = len(physics.states)
    values = solution.values[:, :, :states] * unit[:states]
    return Solution(values, solution.status, solution.steps)
