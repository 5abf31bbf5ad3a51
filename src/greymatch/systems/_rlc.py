"""RLC circuit: U' = I / C, I' = (V - U) / L - (R / L) I, driven by the voltage V(t); the physics misses R.

The published code damps with R / (L C) instead: `rlc_code`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from greymatch.physics.physics import Function, Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.systems.system import Split, System, Truth

STATES, INPUTS = ("U", "I"), ("V",)
R, L, C = Uniform(1.0, 3.0), Uniform(1.0, 3.0), Uniform(0.5, 1.5)
TIMES = np.linspace(0.0, 20.0, 200)
# what is missing is linear, and the regression on the window finds it: more would only cost time
LINEAR = {"encoder.probes": 0, "matching.past": 0}
SOLVED = {"simulation.points": 10, "training.batch": 128, "training.rate": 5e-3}
BLACK_BOX = {"encoder.latents": 4}  # R, L and C are all its own to find
PAPER_MSE = {"vgb-dm": 0.023, "tfm": 0.026, "physvae": 0.029, "bb-node": 0.039, "vbb-dm": 0.038}


def circuit(t, x, p, u):
    return {"U": x.I / p.C, "I": (u.V - x.U) / p.L}


def damped_circuit(t, x, p, u):
    return {"U": x.I / p.C, "I": (u.V - x.U - p.R * x.I) / p.L}


def damped_circuit_code(t, x, p, u):
    return {"U": x.I / p.C, "I": (u.V - x.U - p.R / p.C * x.I) / p.L}


def voltage(t: Tensor) -> Tensor:
    return (1.0 + 2.5 * torch.sin(2.0 * t))[..., None]


def start(rng: np.random.Generator, count: int) -> np.ndarray:
    """Any charge, no current."""
    return np.stack([rng.standard_normal(count), np.zeros(count)], 1)


def _variant(
    name: str, title: str, truth: Function, damping: Callable[[Truth], np.ndarray], **changed: float
) -> System:
    return System(
        name=name,
        title=title,
        physics=Physics(circuit, STATES, {"L": L, "C": C}, inputs=INPUTS, name=name),
        truth=Physics(truth, STATES, {"R": R, "L": L, "C": C}, inputs=INPUTS, name=f"{name}-truth"),
        start=start,
        splits={"train": Split(1000, TIMES, 1), "val": Split(100, TIMES, 2), "test": Split(100, TIMES, 3)},
        given=26,
        preset=Settings(window=26).updated(LINEAR | {"training.minutes": 2.0}),
        tuned={
            "vgb-dm": {"encoder.latents": 1, **changed},  # one more latent would compete with L
            "tfm": {"memory.points": 26, "memory.width": 192, "training.rate": 4e-3},
            "vbb-dm": {**BLACK_BOX, **changed},
            "bb-node": SOLVED | BLACK_BOX | {"residual.products": 0 if name == "rlc" else None},  # chosen on validation
            "physvae": SOLVED | {"simulation.ppc": 1e-4, "simulation.unmix": 1e-4, "simulation.augment": 1.0},
        },
        paper_mse=PAPER_MSE,
        missing={"I": {"I": damping}},
        drive=voltage,
    )


rlc = _variant("rlc", "Driven RLC circuit, resistance unknown", damped_circuit, lambda p: -p["R"] / p["L"])
# its damping spans a factor of 30: many small steps find it better
rlc_code = _variant(
    "rlc_code",
    "Driven RLC circuit, damping as in the published code",
    damped_circuit_code,
    lambda p: -p["R"] / (p["L"] * p["C"]),
    **{"training.batch": 96, "training.rate": 4e-3},
)
