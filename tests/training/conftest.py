"""A problem that is learned in seconds: x' = -k x + c, where the physics does not know the constant c."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.observed import interpolated
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.training.beginning import Beginning, begun

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


@pytest.fixture(scope="session")
def beginning() -> Callable[..., Beginning]:
    """`beginning(physics, data, settings, residual__products=2)`: how a residual begins, judged by the same data."""

    def begins(physics: Physics, data: Trajectories, settings: Settings, **changes: Any) -> Beginning:
        settings = settings.updated({name.replace("__", "."): value for name, value in changes.items()})
        path = interpolated(data, settings, physics.order)
        window = Windows.of(data, settings.window).gather(torch.zeros(1, dtype=torch.long))

        def build(changes: dict[str, Any]) -> Network:
            network = Network.fitting(physics, settings.updated(changes), Scales.of(data, path), window)
            network.observed.copy_(torch.tensor(data.noise or 0.0))
            return network

        return begun(build, data, data)

    return begins
