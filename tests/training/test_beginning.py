from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.whole import whole
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Uniform
from greymatch.settings import Settings
from greymatch.training import beginning as module
from greymatch.training.beginning import Beginning, Judged, Polisher, _disputed, _rivals
from greymatch.training.fit import fit

Decays = Callable[..., Trajectories]
Begin = Callable[..., Beginning]


def said(network: Network, z: float) -> torch.Tensor:
    x = torch.linspace(-1, 1, 5)[:, None]
    extra = torch.full((5, network.settings.encoder.latents), z)
    with torch.no_grad():
        return network.dynamics.field(x, extra)


@pytest.mark.usefixtures("roughly")
def test_what_is_the_same_everywhere_needs_no_z_and_no_more_than_two_factors(
    decay: Physics, decays: Decays, tiny: Settings, beginning: Begin
):
    network = beginning(decay, decays(30), tiny).network
    assert network.settings.residual.products == 2
    torch.testing.assert_close(said(network, 1.0), said(network, 0.0))
    assert float(said(network, 0.0).std()) < 0.1 * float(said(network, 0.0).abs().mean())  # a constant is missing


@pytest.mark.usefixtures("roughly")
def test_a_cubic_law_is_given_products_of_three(decay: Physics, decays: Decays, tiny: Settings, beginning: Begin):
    times = decays(24).times
    start = torch.linspace(0.5, 2.0, 24, dtype=torch.float64)[:, None]
    values = start / (1 + 2 * start.square() * times).sqrt()  # x' = -x^3
    data = Trajectories(("x",), times, values[..., None], torch.ones(24, 41, 1, dtype=torch.bool), decays(24).labels)
    nothing_known = Physics(lambda t, x, p: {"x": 0 * x.x}, ["x"])
    assert beginning(nothing_known, data, tiny).network.settings.residual.products == 3


def test_who_cannot_be_regressed_begins_as_nothing(decay: Physics, decays: Decays, tiny: Settings, beginning: Begin):
    for changes in ({"residual__products": 0}, {"method": "bb-node"}, {"residual__composition": "multiplicative"}):
        begins = beginning(decay, decays(12), tiny, **changes)
        assert not bool(said(begins.network, 1.0).any()), changes
        assert not begins.held


def test_a_law_of_few_terms_gives_parameters_what_is_theirs(decays: Decays, tiny: Settings, beginning: Begin):
    """x' = -rate x - k x^2, with rates far from the middle of their prior, which no quadratic term could be."""
    times = decays(40).times
    generator = torch.Generator().manual_seed(3)
    rate = 0.3 + 0.3 * torch.rand(40, 1, generator=generator, dtype=torch.float64)
    k = 0.5 + torch.rand(40, 1, generator=generator, dtype=torch.float64)
    start = 1 + torch.rand(40, 1, generator=generator, dtype=torch.float64)
    grown = (rate * times).exp()
    values = rate * start / (rate * grown + k * start * (grown - 1))
    data = Trajectories(("x",), times, values[..., None], torch.ones(40, 41, 1, dtype=torch.bool), decays(40).labels)
    physics = Physics(lambda t, x, p: {"x": -p.rate * x.x}, ["x"], {"rate": Uniform(0.0, 2.0)})
    begins = beginning(physics, data, tiny.updated({"encoder.latents": 1}))
    assert begins.noise is not None
    law = whole(begins.network, data)
    found = physics.push(law.mean[:, :1].float()).double()
    torch.testing.assert_close(found, rate, atol=0.01, rtol=0)


def test_a_law_that_is_no_sum_of_products_is_left_to_the_net(decays: Decays, tiny: Settings, beginning: Begin):
    times = decays(24).times
    start = torch.linspace(0.5, 2.0, 24, dtype=torch.float64)[:, None]
    values = (start - times * 0.4).clamp_min(0.0) + 0.3 * torch.sin(9 * start + 7 * times).abs()
    data = Trajectories(("x",), times, values[..., None], torch.ones(24, 41, 1, dtype=torch.bool), decays(24).labels)
    begins = beginning(Physics(lambda t, x, p: {"x": 0 * x.x}, ["x"]), data, tiny)
    assert begins.noise is None
    assert not bool(said(begins.network, 1.0).any())


@pytest.mark.usefixtures("roughly")
def test_a_field_that_forecasts_well_is_held_until_latents_are_settled(
    decay: Physics, decays: Decays, tiny: Settings, beginning: Begin
):
    first = beginning(decay, decays(12), tiny)
    assert first.held
    settings = tiny.updated({"training.settle": 0.01})
    ended = fit(decay, decays(12), decays(6, seed=1), settings=settings, steps=5, quiet=True)
    before, after = (dict(one.dynamics.field.named_parameters()) for one in (first.network, ended.network))
    assert not bool(after["heads.0.weight"].any())
    products = "products.coefficients.weight"
    torch.testing.assert_close(after[products], before[products], atol=1e-6, rtol=0)


def test_physics_that_miss_nothing_keep_what_is_theirs(decays: Decays, tiny: Settings, beginning: Begin):
    """Rates far from the middle of their prior, which a linear product could make up for."""
    times = decays(20).times
    rate = torch.linspace(1.7, 1.9, 20, dtype=torch.float64)[:, None]
    values = (-rate * times).exp() * torch.linspace(1.0, 2.0, 20, dtype=torch.float64)[:, None]
    data = Trajectories(("x",), times, values[..., None], torch.ones(20, 41, 1, dtype=torch.bool), decays(20).labels)
    physics = Physics(lambda t, x, p: {"x": -p.rate * x.x}, ["x"], {"rate": Normal(1.0, 0.5)})
    begins = beginning(physics, data, tiny)
    assert begins.held
    assert float(said(begins.network, 0.0).abs().max()) < 0.01
    found = physics.push(whole(begins.network, data).mean[:, :1].float()).double()
    torch.testing.assert_close(found, rate, atol=0.01, rtol=0)


def test_in_noise_forecasts_tell_a_law_that_derivatives_hardly_show(tiny: Settings, beginning: Begin):
    """x'' = -k x - c x', of which the damping is unknown; its acceleration drowns in noise."""
    generator = torch.Generator().manual_seed(0)
    times = torch.linspace(0, 12, 121, dtype=torch.float64).repeat(16, 1)
    k = 1 + 2 * torch.rand(16, 1, generator=generator, dtype=torch.float64)
    clean = torch.exp(-0.1 * times) * torch.cos((k - 0.1**2).sqrt() * times)
    noise = 0.05 * torch.randn(times.shape, generator=generator, dtype=torch.float64)
    mask = torch.ones(16, 121, 1, dtype=torch.bool)
    data = Trajectories(("x",), times, (clean + noise)[..., None], mask, np.arange(16), noise=(0.05,))
    physics = Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": Uniform(0.5, 4.0)}, order=2)
    begins = beginning(physics, data, tiny.updated({"window": 40}))
    assert begins.held
    phase = torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    latents = Latents(torch.zeros(2, 1), torch.zeros(2, 1))
    with torch.no_grad():
        braking = begins.network.dynamics.parts(torch.zeros(2), phase, latents).residual[:, 0]
    torch.testing.assert_close(braking, torch.tensor([-0.2, 0.2]), atol=0.05, rtol=0)


@pytest.mark.usefixtures("roughly")
def test_fields_begin_as_a_regression_too(tiny: Settings, beginning: Begin):
    """u' = d u_xx + r u (1 - u), of which diffusion is known, with both numbers each trajectory's own."""
    generator = torch.Generator().manual_seed(0)
    count, cells, spacing = 16, 24, 0.25
    spread = 0.02 + 0.06 * torch.rand(count, 1, generator=generator, dtype=torch.float64)
    growth = 0.5 + torch.rand(count, 1, generator=generator, dtype=torch.float64)
    place = 2 * torch.pi * torch.arange(cells, dtype=torch.float64) / cells
    u = 0.4 + 0.3 * torch.sin(place + 6 * torch.rand(count, 1, generator=generator, dtype=torch.float64))

    def speed(field: torch.Tensor) -> torch.Tensor:
        return spread * laplacian(field, (spacing,)) + growth * field * (1 - field)

    frames = [u]
    for _ in range(24):
        for _ in range(10):  # Runge's and Kutta's steps of 0.01
            one = speed(u)
            two = speed(u + 0.005 * one)
            three = speed(u + 0.005 * two)
            u = u + 0.01 / 6 * (one + 2 * two + 2 * three + speed(u + 0.01 * three))
        frames.append(u)
    values = torch.stack(frames, 1)[:, :, None]
    times = (0.1 * torch.arange(25, dtype=torch.float64)).expand(count, -1)
    mask = torch.ones_like(values, dtype=torch.bool)
    data = Trajectories(("u",), times, values, mask, np.arange(count), grid=("x",))
    physics = Physics(
        lambda t, x, p: {"u": p.d * laplacian(x.u, (spacing,))}, ["u"], {"d": Uniform(0.0, 0.2)}, grid=["x"]
    )
    begins = beginning(physics, data, tiny, residual__kind="conv", encoder__kind="conv", encoder__latents=1)
    assert begins.held
    assert begins.network.settings.residual.products == 2
    found = physics.push(whole(begins.network, data).mean[:, :1].float()).double()
    torch.testing.assert_close(found, spread, atol=1e-3, rtol=0)


def test_what_stands_still_begins_without_an_error(decays: Decays, tiny: Settings, beginning: Begin):
    data = decays(10)
    still = replace(data, values=data.values[:, :1].expand_as(data.values).clone())
    assert beginning(Physics(lambda t, x, p: {"x": 0 * x.x}, ["x"]), still, tiny).network.blind.shape == (0,)


@pytest.mark.parametrize(
    ("polished", "disputed", "taken"),
    [
        ((1.0, 1.2), [0.3, 0.0], 0),  # nothing is told by it, and they forecast as well
        ((1e-8, 1.0), [0.0, 0.0], 0),
        ((1e-8, 1.2e-8), [0.3, 0.0], 0),
        ((1e-3, 1e-8), [0.0, 0.0], 1),
    ],
)
def test_parameters_on_which_laws_disagree_that_forecast_as_well_are_in_dispute(
    polished: tuple[float, float], disputed: list[float], taken: int, monkeypatch: pytest.MonkeyPatch
):
    places = (torch.zeros(5, 2), torch.tensor([[0.3, 0.0]]).expand(5, 2))
    after = [SimpleNamespace(at=at, error=error) for at, error in zip(places, polished, strict=True)]
    before: list[Any] = [SimpleNamespace(at=law.at, after=law) for law in after]
    one, rival = (Judged(law, error) for law, error in zip(before, (1.0, 1.2), strict=True))
    monkeypatch.setattr(module, "polished", lambda law, data, build: law.after)
    monkeypatch.setattr(module, "_judged", lambda law, judge: Judged(law, law.error))
    law, rivals = Polisher(None, None, None).best(one, [rival])  # pyright: ignore[reportArgumentType]
    assert law is after[taken]
    assert _disputed(law, rivals).tolist() == pytest.approx(disputed)


def test_beside_a_law_no_fit_is_a_rival_but_another_law_is():
    def judged(terms: int, error: float) -> Judged:
        return Judged(SimpleNamespace(terms=terms), error)  # pyright: ignore[reportArgumentType]

    law, other, fit, worse = judged(1, 1.0), judged(2, 1.2), judged(12, 0.9), judged(2, 1.6)
    assert _rivals(law, [law, other, fit, worse]) == [other]
    assert _rivals(fit, [law, other, fit, worse]) == [law, other]
