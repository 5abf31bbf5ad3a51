"""Untrained networks to test with, on decays and on fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.interpolants import interpolant
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import LogNormal, Normal, Uniform
from greymatch.settings import Settings

Build = Callable[..., Network]
WINDOW = 6


def _data(order: int, grid: tuple[int, ...], rows: int = 5, points: int = 12) -> Trajectories:
    """Two states a, b that wave with their own phases on every pixel."""
    generator = torch.Generator().manual_seed(7)
    times = torch.arange(points, dtype=torch.float64) * 0.2
    phase = 6 * torch.rand(rows, 1, 2, *grid, generator=generator, dtype=torch.float64)
    values = torch.sin(times.reshape(1, -1, 1, *(1,) * len(grid)) * order + phase)
    mask = torch.ones_like(values, dtype=torch.bool)
    axes = ("z", "y", "x")[3 - len(grid) :]
    return Trajectories(("a", "b"), times.repeat(rows, 1), values, mask, np.arange(rows), grid=axes)


def _physics(order: int, axes: int, complete: tuple[str, ...]) -> Physics:
    def right(t, x, p):
        spread = laplacian(x.a, 1.0, dims=axes) if axes else -x.a
        return {"a": p.k * spread + x.b, "b": -p.c * x.b * x.a}

    params = {"k": LogNormal(1.0, 0.3), "g": 9.81, "c": Uniform(0.0, 1.0)}
    return Physics(right, ["a", "b"], params, order, grid=("z", "y", "x")[3 - axes :], complete=complete)


@pytest.fixture(scope="session")
def greybox() -> Callable[..., GreyBox]:
    """`greybox(physics, data, trained=False, **settings)`: a model that was never fitted."""

    def make(physics: Physics, data: Trajectories, trained: bool = False, **changes: Any) -> GreyBox:
        return GreyBox(physics, _network(physics, data, trained, changes), {"made": "by hand"})

    return make


@pytest.fixture(scope="session")
def waves() -> Callable[..., Trajectories]:
    """`waves(order, grid)`: trajectories that fit `build`."""
    return _data


@pytest.fixture(scope="session")
def build() -> Build:
    """`build(order=1, grid=(), complete=(), trained=False, **settings)`: a network with its weights as they start.

    `trained=True` gives it other weights, as training would; double underscores stand for dots.
    """

    def make(
        order: int = 1,
        grid: tuple[int, ...] = (),
        complete: tuple[str, ...] = (),
        trained: bool = False,
        **changes: Any,
    ) -> Network:
        return _network(_physics(order, len(grid), complete), _data(order, grid), trained, changes)

    return make


def _network(physics: Physics, data: Trajectories, trained: bool, changes: dict[str, Any]) -> Network:
    small = {"encoder.width": 8, "residual.width": 8, "encoder.stencil": 5}
    settings = Settings(window=WINDOW).updated(small | {k.replace("__", "."): v for k, v in changes.items()})
    path = interpolant("quintic")(data.times, data.values, data.mask)
    window = Windows.of(data, WINDOW).gather(torch.tensor([0]))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Network.fitting(physics, settings, Scales.of(data, path), window)
        for name, parameter in network.named_parameters():
            size = 0.02 if "products" in name else 0.3  # products grow fast
            parameter.data += size * torch.randn_like(parameter) * trained
    return network.requires_grad_(False)


@pytest.fixture(scope="session")
def hunters() -> tuple[Network, Trajectories, torch.Tensor]:
    """a' = a (k - b), b' = b (a - 1), all of it known but k: a network, trajectories of 34 points, and k."""
    chance = np.random.default_rng(0)
    rates, starts, clock = 1 + 0.2 * chance.standard_normal(8), chance.uniform(0.5, 2.5, (8, 2)), np.arange(34) * 0.4
    paths = [
        solve_ivp(
            lambda t, x, k: [x[0] * (k - x[1]), x[1] * (x[0] - 1)],
            (0, clock[-1]),
            start,
            t_eval=clock,
            args=(k,),
            rtol=1e-11,
            atol=1e-12,
        ).y.T
        for k, start in zip(rates, starts, strict=True)
    ]
    values = torch.tensor(np.array(paths))
    times = torch.tensor(clock).repeat(8, 1)
    data = Trajectories(("a", "b"), times, values, torch.ones_like(values, dtype=torch.bool), np.arange(8))
    physics = Physics(
        lambda t, x, p: {"a": x.a * (p.k - x.b), "b": x.b * (x.a - 1)},
        ["a", "b"],
        {"k": Normal(1.0, 0.2)},
        complete=("a", "b"),
    )
    return _network(physics, data, False, {"window": 24}), data, torch.tensor(rates)
