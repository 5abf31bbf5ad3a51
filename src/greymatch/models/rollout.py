"""Forecasting with a network: latents fixed, the field solved from the last observation on."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.models.flow import Flow
from greymatch.models.latents import Members
from greymatch.models.march import march
from greymatch.models.network import Network
from greymatch.simulation.solve import Field, Solution, solve
from greymatch.simulation.start import Start

TOLERANCE = 1e-6
FARTHEST = 100.0  # from the middle of the data, in units of their spread: nothing that was learned holds there
PIXELS_AT_ONCE = 2**14  # or members without a grid: of more, what a net makes of them leaves a processor's caches
NETLESS = 4  # times as many of a field without one


def roll_out(
    network: Network,
    start: Start,
    members: Members,
    times: Tensor,
    signals: Signals | None = None,
    tolerance: float = TOLERANCE,
    max_steps: int = 10_000,
) -> Solution:
    """States (B, T, S, *grid) at `times` (B, T), one member for each of the B starts.

    The tolerance is relative to each state's own spread, whatever its units. Many members, or those with large grids,
    are solved some at a time.
    """
    parts = []
    for rows in torch.arange(len(times), device=times.device).split(_at_once(network)):
        driven = signals.select(rows) if signals else None
        some = (start.select(rows), members.select(rows), times[rows], driven)
        if network.recalls:
            parts.append(march(network, *some, max_steps))
        else:
            parts.append(_solved(network, *some, tolerance, max_steps))
    return Solution.joined(parts)


def _at_once(network: Network) -> int:
    """How many members are solved together."""
    grid = torch.Size(network.shapes.grid)
    more = NETLESS if grid and not network.recalls and network.dynamics.field.netless else 1
    return max(1, more * PIXELS_AT_ONCE // grid.numel())


def _solved(
    network: Network,
    start: Start,
    members: Members,
    times: Tensor,
    signals: Signals | None,
    tolerance: float,
    max_steps: int,
) -> Solution:
    physics, states = network.physics, len(network.physics.states)
    everyone = Flow.of(network.dynamics, members.latents)
    kicks = torch.nn.functional.pad(members.kick, ((physics.order - 1) * states, 0))
    kicks = kicks.reshape(*kicks.shape, *(1,) * len(physics.grid)) / everyone.unit

    def of(rows: Tensor) -> Field:
        """The field of some members, in units of the data."""
        flow, kick = everyone.select(rows), kicks[rows]

        def field(t: Tensor, scaled: Tensor) -> Tensor:
            u = signals.at(rows, t[:, None])[:, 0].float() if signals else None
            return flow(t, scaled, u) + kick

        return field

    phase = members.latents.started(start.phase)
    scaled = ((phase - everyone.center) / everyone.unit).float()
    farthest = max(FARTHEST, 2 * float(scaled.abs().max())) if bool(network.dynamics.open.any()) else torch.inf
    rows = torch.arange(len(times), device=times.device)
    solution = solve(of(rows), scaled, start.time, times, tolerance, max_steps, of, farthest)
    values = everyone.center[:states] + solution.values[:, :, :states] * everyone.unit[:states]
    return Solution(values, solution.status, solution.steps)
