"""Forecasting with a network: latents fixed, the field solved from the last observation on."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.models.latents import Members
from greymatch.models.march import march
from greymatch.models.network import Network
from greymatch.simulation.solve import Solution, solve
from greymatch.simulation.start import Start


def roll_out(
    network: Network,
    start: Start,
    members: Members,
    times: Tensor,
    signals: Signals | None = None,
    tolerance: float = 1e-5,
    max_steps: int = 10_000,
) -> Solution:
    """States (B, T, S, *grid) at `times` (B, T), one member for each of the B starts.

    The tolerance is relative to each state's own spread, whatever its units.
    """
    if network.recalls:
        return march(network, start, members, times, signals, max_steps)
    physics = network.physics
    rows = torch.arange(len(times), device=times.device)
    axes, states = len(physics.grid), len(physics.states)
    center, unit = (part.reshape(*part.shape, *(1,) * axes) for part in network.scales.phase(physics.order))
    latents = network.dynamics.pushed(members.latents)
    kick = torch.nn.functional.pad(members.kick, ((physics.order - 1) * states, 0))
    kick = kick.reshape(*kick.shape, *(1,) * axes)

    def field(t: Tensor, scaled: Tensor) -> Tensor:
        u = signals.at(rows, t[:, None])[:, 0].float() if signals else None
        return (network.dynamics.velocity(t, center + scaled * unit, latents, u) + kick) / unit

    phase = start.phase if members.latents.start is None else members.latents.start
    solution = solve(field, ((phase - center) / unit).float(), start.time, times, tolerance, max_steps)
    return Solution(center[:states] + solution.values[:, :, :states] * unit[:states], solution.status, solution.steps)
