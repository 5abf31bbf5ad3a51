"""Lorenz: u' = sigma (v - u), v' = u (rho - w) - v, w' = u v - beta w; the physics misses u (rho - w)."""

from __future__ import annotations

import numpy as np

from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Uniform
from greymatch.settings import Settings
from greymatch.systems.system import Split, System

STATES = ("u", "v", "w")
TIMES = np.linspace(0.0, 2.0, 60)
# to the end of the trajectory: it is chaotic
BLACK_BOX = {"encoder.latents": 4}  # sigma, rho and beta are all its own to find
SOLVED = {"simulation.points": 29, "training.batch": 64, "training.rate": 5e-3}


def convection(t, x, p):
    return {"u": p.sigma * (x.v - x.u), "v": -x.v, "w": x.u * x.v - p.beta * x.w}


def full_convection(t, x, p):
    return {"u": p.sigma * (x.v - x.u), "v": x.u * (p.rho - x.w) - x.v, "w": x.u * x.v - p.beta * x.w}


def start(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.normal(0.0, 0.5, (count, 3))


lorenz = System(
    name="lorenz",
    title="Lorenz convection, buoyancy unknown",
    physics=Physics(convection, STATES, {"sigma": Normal(10.0, 1.2), "beta": Normal(2.7, 0.3)}, name="lorenz"),
    truth=Physics(
        full_convection,
        STATES,
        {"sigma": Uniform(9.5, 10.5), "rho": Uniform(27.0, 29.0), "beta": Uniform(2.6, 2.8)},
        name="lorenz-truth",
    ),
    start=start,
    splits={"train": Split(1000, TIMES, 1), "val": Split(250, TIMES, 2), "test": Split(250, TIMES, 3)},
    given=31,
    substeps=20,  # it is chaotic: an error grows
    preset=Settings(window=31).updated({"training.minutes": 4.0}),
    tuned={
        "vgb-dm": {"training.batch": 96, "training.rate": 4e-3},  # small and fast: the paper's error within seconds
        "tfm": {"memory.points": 26, "memory.width": 200},
        "vbb-dm": BLACK_BOX,
        "bb-node": SOLVED | BLACK_BOX,
        "physvae": SOLVED
        | {"simulation.kl": 0.03, "simulation.ppc": 0, "simulation.unmix": 0, "simulation.augment": 1},
    },
    paper_mse={"vgb-dm": 0.468, "tfm": 0.985, "physvae": 1.312, "bb-node": 2.215, "vbb-dm": 0.991},
    missing={"v": {"u": lambda p: p["rho"], "u w": lambda p: -1.0}},
)
