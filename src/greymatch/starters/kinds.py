"""The kinds of starters: first order, second order, and a field on a grid."""

from __future__ import annotations

import numpy as np
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.simulation.simulate import simulate
from greymatch.starters.starter import Starter

TRAJECTORIES = 24


def tanks(seed: int) -> Trajectories:
    """Levels of tanks that empty through a hole, while an inflow that the starter does not know fills them."""
    rng = np.random.default_rng(seed)
    truth = Physics(
        lambda t, x, p: {"level": p.inflow - p.rate * x.level},
        ["level"],
        {"rate": Uniform(0.3, 1.5), "inflow": Uniform(0.2, 0.8)},
    )
    return _recorded(truth, rng.uniform(0.5, 3.0, (TRAJECTORIES, 1)), np.linspace(0, 8, 81), rng)


def springs(seed: int) -> Trajectories:
    """Masses on springs, slowed by a friction that the starter does not know."""
    rng = np.random.default_rng(seed)
    truth = Physics(
        lambda t, x, p: {"position": -p.stiffness * x.position - p.friction * x.position_dot},
        ["position"],
        {"stiffness": Uniform(1.0, 4.0), "friction": Uniform(0.1, 0.5)},
        order=2,
    )
    start = np.stack([rng.uniform(-2, 2, TRAJECTORIES), np.zeros(TRAJECTORIES)], 1)
    return _recorded(truth, start, np.linspace(0, 10, 101), rng)


def rods(seed: int) -> Trajectories:
    """Temperatures along rings that conduct heat, and lose it to an air that the starter does not know."""
    rng = np.random.default_rng(seed)
    truth = Physics(
        lambda t, x, p: {"temperature": p.diffusivity * laplacian(x.temperature, (1.0,)) - p.loss * x.temperature},
        ["temperature"],
        {"diffusivity": Uniform(0.5, 1.5), "loss": Uniform(0.1, 0.3)},
        grid=["x"],
    )
    angle = 2 * np.pi * np.arange(24) / 24
    phase, size = rng.uniform(0, 2 * np.pi, (2, TRAJECTORIES, 3, 1)), rng.normal(0, 1, (TRAJECTORIES, 3, 1))
    waves = np.sin(np.arange(1, 4)[:, None] * angle + phase[0]) * size
    return _recorded(truth, 1 + waves.sum(1, keepdims=True), np.linspace(0, 6, 41), rng)


def _recorded(truth: Physics, start: np.ndarray, times: np.ndarray, rng: np.random.Generator) -> Trajectories:
    eps = torch.as_tensor(rng.standard_normal((len(start), len(truth.free))))
    phase = simulate(truth, torch.as_tensor(start), torch.as_tensor(times), truth.push(eps))
    values = phase[:, :, : len(truth.states)]
    return Trajectories(
        truth.states,
        torch.as_tensor(times).repeat(len(start), 1),
        values,
        torch.ones_like(values, dtype=torch.bool),
        np.arange(len(start)),
        grid=truth.grid,
    )


STARTERS = {
    starter.kind: starter
    for starter in (
        Starter(
            kind="first",
            title="a system of first order",
            states=("level",),
            order=1,
            parameter="rate",
            median=1.0,
            equation="-p.rate * x.{state}",
            returns="The time derivative of each state.",
            order_note="2: the function returns accelerations, and may use velocities",
            example=tanks,
        ),
        Starter(
            kind="second",
            title="a system of second order",
            states=("position",),
            order=2,
            parameter="stiffness",
            median=2.0,
            equation="-p.stiffness * x.{state}",
            returns="The acceleration of each state; x.NAME_dot is the velocity of x.NAME.",
            order_note="the function returns accelerations; 1: time derivatives",
            example=springs,
        ),
        Starter(
            kind="field",
            title="fields on a grid",
            states=("temperature",),
            order=1,
            parameter="diffusivity",
            median=1.0,
            equation="p.diffusivity * gm.laplacian(x.{state}, spacing)",
            returns="The time derivative of each field; gm.gradient and gm.divergence are there too.",
            order_note="2: the function returns accelerations, and may use velocities",
            example=rods,
            suffix=".nc",
            grid=("x",),
        ),
    )
}
