from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.simulation.simulate import simulate
from greymatch.training import beginning as module
from greymatch.training.beginning import Beginning
from greymatch.training.law import Law
from greymatch.training.polishing import polished

Begin = Callable[..., Beginning]


@pytest.fixture
def unpolished(monkeypatch: pytest.MonkeyPatch) -> list[Network]:
    """The networks of laws that are to be polished, as they are before."""
    found: list[Network] = []

    def noted(law: Law, data: Trajectories, build: Callable[..., Network] | None) -> Law:
        found.append(deepcopy(law.told()))
        return polished(law, data, build)

    monkeypatch.setattr(module, "polished", noted)
    return found


def braked(count: int, step: float) -> tuple[Physics, Trajectories]:
    """x' = -rate x - x^2, of which the square is missing, at times `step` apart."""
    generator = torch.Generator().manual_seed(0)
    rate, start = (0.5 + torch.rand(count, 1, generator=generator, dtype=torch.float64) for _ in range(2))
    times = step * torch.arange(20, dtype=torch.float64).repeat(count, 1)
    grown = (rate * times).exp()
    values = rate * start / (rate * grown + start * (grown - 1))
    mask = torch.ones(count, 20, 1, dtype=torch.bool)
    physics = Physics(lambda t, x, p: {"x": -p.rate * x.x}, ["x"], {"rate": Uniform(0.0, 2.0)})
    return physics, Trajectories(("x",), times, values[..., None], mask, np.arange(count))


def residual(network: Network) -> torch.Tensor:
    """What a network has learned to be missing at x = 0.2, 0.4 ... 1, in double, as paths see it."""
    x = torch.linspace(0.2, 1, 5, dtype=torch.float64)[:, None]
    latents = Latents(x.new_zeros(5, 1), x.new_zeros(5, network.settings.encoder.latents))
    with torch.no_grad():
        return deepcopy(network).double().dynamics.parts(x.new_zeros(5), x, latents).residual[:, 0]


def test_a_law_becomes_exact_where_finite_differences_err(tiny: Settings, beginning: Begin, unpolished: list[Network]):
    (physics, data), settings = braked(30, step=0.4), tiny.updated({"window": 12})
    true = -(torch.linspace(0.2, 1, 5, dtype=torch.float64) ** 2)
    after = (residual(beginning(physics, data, settings).network) - true).abs().max()
    before = (residual(unpolished[0]) - true).abs().max()
    assert float(before) > 1e-4
    assert float(after) < 1e-8  # a term that is written in products in single precision would not come so near


def test_so_do_scales_of_curves(tiny: Settings, beginning: Begin, unpolished: list[Network]):
    """x' = k - 2 x / (0.7 + x), of which the uptake is missing."""
    truth = Physics(lambda t, x, p: {"x": p.k - 2 * x.x / (0.7 + x.x)}, ["x"], {"k": Uniform(0.1, 0.4)})
    physics = Physics(lambda t, x, p: {"x": p.k + 0 * x.x}, ["x"], {"k": Uniform(0.1, 0.4)})
    generator = torch.Generator().manual_seed(1)
    k, start = torch.rand(30, 2, generator=generator, dtype=torch.float64).unsqueeze(2).unbind(1)
    k, times = 0.1 + 0.3 * k, 0.25 * torch.arange(24, dtype=torch.float64)
    values = simulate(truth, 6 * start, times, k, substeps=8)
    mask = torch.ones_like(values, dtype=torch.bool)
    data = Trajectories(("x",), times.repeat(30, 1), values, mask, np.arange(30))
    after = scale(beginning(physics, data, tiny.updated({"window": 12})).network)
    before = scale(unpolished[0])
    assert abs(before - 0.7) > 1e-4
    assert abs(after - 0.7) < 1e-5


def scale(network: Network) -> float:
    (curve,) = network.dynamics.curves
    assert curve.shape == "saturation"
    assert network.settings.residual.curves == (str(curve),)
    return curve.scale


@pytest.mark.usefixtures("roughly")
def test_only_trajectories_with_windows_are_looked_at(tiny: Settings, beginning: Begin):
    physics, data = braked(60, step=0.4)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    short = torch.arange(60) % 5 != 3
    times[short, 6:], values[short, 6:], mask[short, 6:] = torch.inf, 0.0, False
    few_are_long = replace(data, times=times, values=values, mask=mask)
    assert beginning(physics, few_are_long, tiny.updated({"window": 12})).held


def test_noise_is_not_followed(tiny: Settings, beginning: Begin, unpolished: list[Network]):
    physics, data = braked(20, step=0.2)
    noise = 0.01 * torch.as_tensor(np.random.default_rng(0).normal(size=data.values.shape))
    noisy = replace(data, values=data.values + noise, noise=(0.01,))
    found = residual(beginning(physics, noisy, tiny).network)
    torch.testing.assert_close(found, residual(unpolished[0]), atol=0, rtol=0)
