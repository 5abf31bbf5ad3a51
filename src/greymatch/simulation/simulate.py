"""Accurate simulation of complete equations, the same on every machine."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from greymatch.physics.physics import Physics
from greymatch.simulation.sixth import PARTS, stepped

Inputs = Callable[[Tensor], Tensor]


def simulate(
    physics: Physics,
    start: Tensor,
    times: Tensor,
    theta: Tensor,
    inputs: Inputs | None = None,
    substeps: int = 20,
) -> Tensor:
    """Phases (N, T, order*S, *grid) at `times` (T,) from `start` (N, order*S, *grid), by Runge-Kutta in float64.

    A fixed step keeps the result the same everywhere; the error falls with the sixth power of `substeps`.
    """
    phase, theta = start.double(), theta.double()

    def slope(at: float, x: Tensor) -> Tensor:
        clock = x.new_full((len(x),), at)
        return phase_velocity(physics, clock, x, theta, inputs(clock) if inputs else None)

    out = [phase]
    for left, right in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
        h = (right - left) / substeps
        for i in range(substeps):
            phase = stepped(lambda part, x, begin=left + i * h, h=h: slope(begin + part * h / PARTS, x), h, phase)
        out.append(phase)
    return torch.stack(out, 1)


def phase_velocity(physics: Physics, t: Tensor, phase: Tensor, theta: Tensor, u: Tensor | None = None) -> Tensor:
    """d(phase)/dt by the physics alone: positions move with the velocities, those with the physics."""
    top = physics.evaluate(t, phase, theta, u)
    if physics.order == 1:
        return top
    axis = -1 - len(physics.grid)
    return torch.cat([phase.narrow(axis, len(physics.states), len(physics.states)), top], axis)
