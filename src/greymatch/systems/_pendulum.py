"""Damped pendulum: angle'' = -omega^2 sin(angle) - xi angle'; the damping is what the physics misses."""

from __future__ import annotations

import numpy as np
import torch

from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.systems.system import Split, System

OMEGA, XI = Uniform(0.785, 3.14), Uniform(0.6, 1.5)
TIMES = np.linspace(0.0, 19.9, 200)
# what is missing is linear, and the regression on the window finds it: more would only cost time
LINEAR = {"encoder.probes": 0, "matching.past": 0}
SOLVED = {"simulation.points": 12, "training.rate": 5e-3}


def swing(t, x, p):
    return {"angle": -(p.omega**2) * torch.sin(x.angle)}


def damped_swing(t, x, p):
    return {"angle": -(p.omega**2) * torch.sin(x.angle) - p.xi * x.angle_dot}


def start(rng: np.random.Generator, count: int) -> np.ndarray:
    """Any angle up to a right angle, at rest."""
    return np.stack([rng.uniform(-1.57, 1.57, count), np.zeros(count)], 1)


pendulum = System(
    name="pendulum",
    title="Damped pendulum, friction unknown",
    physics=Physics(swing, ["angle"], {"omega": OMEGA}, order=2, name="pendulum"),
    truth=Physics(damped_swing, ["angle"], {"omega": OMEGA, "xi": XI}, order=2, name="pendulum-truth"),
    start=start,
    splits={"train": Split(1000, TIMES, 1), "val": Split(250, TIMES, 2), "test": Split(100, TIMES, 3)},
    given=26,
    preset=Settings(window=26).updated(LINEAR | {"training.minutes": 2.0}),
    tuned={
        "vgb-dm": {"matching.past": 4},
        "tfm": {"memory.points": 26, "memory.width": 180, "training.rate": 4e-3},
        "bb-node": SOLVED | {"training.batch": 512, "matching.amplitude_floor": 1.0, "residual.products": 0},
        "physvae": SOLVED,
    },
    paper_mse={"vgb-dm": 2.83e-3, "tfm": 3.48e-3, "physvae": 4.17e-3, "bb-node": 4.52e-3, "vbb-dm": 1.058e-2},
    missing={"angle": {"angle_dot": lambda p: -p["xi"]}},
)
