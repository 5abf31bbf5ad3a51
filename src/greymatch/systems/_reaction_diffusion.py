"""FitzHugh-Nagumo: u' = a Lap u + u - u^3 - v - k, v' = b Lap v + u - v, on a periodic 32 x 32 grid.

The paper's physics misses k alone; the published code's (`reaction_diffusion_u`) the whole reaction of u.
"""

from __future__ import annotations

import numpy as np

from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Function, Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.systems.system import Missing, Split, System, Truth

STATES, GRID = ("u", "v"), ("y", "x")
A, B, K = Uniform(1e-3, 2e-3), Uniform(3e-3, 7e-3), Uniform(3e-3, 5e-3)
CELLS = 32
SPACING = (2 / 31, 2 / 31)
SHORT, LONG = np.arange(11) * 0.1, np.arange(51) * 0.1
PRESET = Settings(window=6).updated(
    {"encoder.kind": "conv", "encoder.width": 32, "residual.kind": "conv", "residual.width": 16}
    | {"matching.past": 0}  # white noise at first: no slope is sound
    | {"training.batch": 16, "training.validations": 10, "training.minutes": 2.0}
)
# a black box must learn diffusion too, and tell a, b and k apart: by a regression, or by a net that sees neighbours
BLACK_BOX = {"residual.kind": "conv", "residual.kernel": 1, "residual.width": 24, "encoder.latents": 4}
NEIGHBOURS = {"residual.kernel": 3}
TFM = {"residual.kind": "conv", "memory.points": 3, "memory.width": 90, "training.batch": 4, "training.validations": 12}
SOLVED = {"simulation.points": 5, "training.batch": 8, "training.rate": 5e-3}
PAPER_MSE = {"vgb-dm": 7.1e-3, "tfm": 8.5e-3, "physvae": 7.4e-3, "bb-node": 7.5e-3, "vbb-dm": 8.0e-3}


def without_k(t, x, p):
    return {
        "u": p.a * laplacian(x.u, SPACING) + x.u - x.u**3 - x.v,
        "v": p.b * laplacian(x.v, SPACING) + x.u - x.v,
    }


def without_u_reaction(t, x, p):
    return {"u": p.a * laplacian(x.u, SPACING), "v": p.b * laplacian(x.v, SPACING) + x.u - x.v}


def full_reaction(t, x, p):
    return {
        "u": p.a * laplacian(x.u, SPACING) + x.u - x.u**3 - x.v - p.k,
        "v": p.b * laplacian(x.v, SPACING) + x.u - x.v,
    }


def start(rng: np.random.Generator, count: int) -> np.ndarray:
    """White noise between 0 and 1."""
    return rng.uniform(0.0, 1.0, (count, 2, CELLS, CELLS))


def _variant(name: str, title: str, known: Function, preset: Settings, missing: Missing) -> System:
    return System(
        name=name,
        title=title,
        physics=Physics(known, STATES, {"a": A, "b": B}, grid=GRID, name=name),
        truth=Physics(full_reaction, STATES, {"a": A, "b": B, "k": K}, grid=GRID, name=f"{name}-truth"),
        start=start,
        splits={"train": Split(50, SHORT, 1), "val": Split(50, LONG, 2), "test": Split(250, LONG, 3)},
        given=6,
        preset=preset,
        tuned={
            "tfm": TFM,
            "vbb-dm": BLACK_BOX,
            "bb-node": SOLVED | BLACK_BOX | NEIGHBOURS,
            "physvae": SOLVED,
        },
        paper_mse=PAPER_MSE,
        missing=missing,
    )


def _minus_k(p: Truth) -> np.ndarray:
    return -p["k"]


reaction_diffusion = _variant(
    "reaction_diffusion", "Reaction-diffusion, one constant unknown", without_k, PRESET, {"u": {"1": _minus_k}}
)
reaction_diffusion_u = _variant(
    "reaction_diffusion_u",
    "Reaction-diffusion, the reaction of u unknown",
    without_u_reaction,
    PRESET.updated({"residual.kind": "polynomial"}),  # it must go beyond what it has seen, where a net knows nothing
    {"u": {"1": _minus_k, "u": lambda p: 1.0, "v": lambda p: -1.0, "u^3": lambda p: -1.0}},
)
