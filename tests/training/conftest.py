"""A problem that is learned in seconds: x' = -k x + c, where the physics does not know the constant c."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings

MISSING = 0.5


@pytest.fixture(scope="session")
def decay() -> Physics:
    return Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": Uniform(0.2, 2.0)}, name="decay")


@pytest.fixture(scope="session")
def decays() -> Callable[..., Trajectories]:
    """`decays(rows, seed=0, state=1.0, time=1.0)`: exact solutions, in units `state` and `time` times smaller."""

    def make(rows: int, seed: int = 0, state: float = 1.0, time: float = 1.0) -> Trajectories:
        rng = np.random.default_rng(seed)
        k = torch.as_tensor(rng.uniform(0.2, 2.0, (rows, 1)))
        start = torch.as_tensor(rng.uniform(-2.0, 2.0, (rows, 1)))
        times = torch.linspace(0, 4, 41, dtype=torch.float64).repeat(rows, 1)
        x = MISSING / k + (start - MISSING / k) * torch.exp(-k * times)
        mask = torch.ones(rows, 41, 1, dtype=torch.bool)
        truth = {"k": k[:, 0].numpy() / time}
        return Trajectories(("x",), time * times, state * x[..., None], mask, np.arange(rows), truth=truth)

    return make


@pytest.fixture(scope="session")
def tiny() -> Settings:
    """Nets and batches so small that a step takes a millisecond or two."""
    small = {"encoder.width": 16, "encoder.latents": 1, "residual.width": 16, "training.batch": 32}
    return Settings(window=8).updated({**small, "training.validations": 4, "training.steps": 20})
