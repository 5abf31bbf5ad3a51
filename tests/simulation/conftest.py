"""Problems with a solver in the loop: data whose truth is known, and what learns from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from greymatch.physics.priors import Normal
from greymatch.settings import Settings
from greymatch.training.recipe import recipe

K, W = 0.5, 4.0
# the prior's median is the truth: an untrained model at the posterior's mean is exact
DECAY = Physics(lambda t, x, p: {"a": -p.k * x.a, "b": -p.k * x.b}, ["a", "b"], {"k": Normal(K, 0.1)})
SPRING = Physics(lambda t, x, p: {"a": -p.w * x.a, "b": -4 * x.b}, ["a", "b"], {"w": Normal(W, 0.5)}, order=2)


def recorded(physics: Physics) -> Trajectories:
    """Exact solutions of either physics with the parameter at the prior's mean."""
    times = torch.linspace(0, 3, 31, dtype=torch.float64)
    phase = torch.arange(8)[:, None, None] + torch.tensor([0.0, 0.7])
    clock = times[:, None]
    values = torch.cos(W**0.5 * clock + phase) if physics.order == 2 else (1 + phase) * torch.exp(-K * clock)
    mask = torch.ones(8, 31, 2, dtype=torch.bool)
    return Trajectories(("a", "b"), times.repeat(8, 1), values.double(), mask, np.arange(8))


@dataclass(frozen=True)
class Prepared:
    """A network with the sampler and the objective of its method, and one batch."""

    network: Network
    sampler: Any
    objective: Any
    batch: Any

    def loss(self, generator: torch.Generator | None = None) -> Any:
        return self.objective(self.batch, torch.full((self.objective.channels,), 0.04), generator)


@pytest.fixture(scope="session")
def prepared() -> Callable[..., Prepared]:
    """`prepared(physics, data=None, **settings)`; double underscores stand for dots."""

    def make(physics: Physics, data: Trajectories | None = None, **changes: Any) -> Prepared:
        small = {"encoder.width": 16, "residual.width": 8, "simulation.points": 6, "simulation.substeps": 2}
        settings = Settings(window=12).updated(small | {k.replace("__", "."): v for k, v in changes.items()})
        data = recorded(physics) if data is None else data
        path = interpolated(data, settings, physics.order)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            window = Windows.of(data, settings.window).gather(torch.tensor([0]))
            network = Network.fitting(physics, settings, Scales.of(data, path), window)
        sampler, objective, *_ = recipe(network, data, path)
        return Prepared(network, sampler, objective, sampler.draw(32, torch.Generator().manual_seed(0)))

    return make


@pytest.fixture(scope="session")
def decay() -> Physics:
    return DECAY


@pytest.fixture(scope="session")
def spring() -> Physics:
    return SPRING


@pytest.fixture(scope="session")
def exact() -> Callable[[Physics], Trajectories]:
    return recorded
