from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.observed import interpolated
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.beginning import begun, held
from greymatch.training.fit import fit

Decays = Callable[..., Trajectories]


def beginning(physics: Physics, data: Trajectories, settings: Settings, **changes: Any) -> Network:
    settings = settings.updated({name.replace("__", "."): value for name, value in changes.items()})
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.zeros(1, dtype=torch.long))

    def build(products: int | None) -> Network:
        return Network.fitting(
            physics, settings.updated({"residual.products": products}), Scales.of(data, path), window
        )

    return begun(build, settings.residual.products, data)


def said(network: Network, z: float) -> torch.Tensor:
    x = torch.linspace(-1, 1, 5)[:, None]
    extra = torch.full((5, network.settings.encoder.latents), z)
    with torch.no_grad():
        return network.dynamics.field(x, extra)


def test_what_is_the_same_everywhere_needs_no_z_and_no_more_than_two_factors(
    decay: Physics, decays: Decays, tiny: Settings
):
    network = beginning(decay, decays(30), tiny)
    assert network.settings.residual.products == 2
    torch.testing.assert_close(said(network, 1.0), said(network, 0.0))
    assert float(said(network, 0.0).std()) < 0.1 * float(said(network, 0.0).abs().mean())  # a constant is missing


def test_a_cubic_law_is_given_products_of_three(decay: Physics, decays: Decays, tiny: Settings):
    times = decays(24).times
    start = torch.linspace(0.5, 2.0, 24, dtype=torch.float64)[:, None]
    values = start / (1 + 2 * start.square() * times).sqrt()  # x' = -x^3
    data = Trajectories(("x",), times, values[..., None], torch.ones(24, 41, 1, dtype=torch.bool), decays(24).labels)
    nothing_known = Physics(lambda t, x, p: {"x": 0 * x.x}, ["x"])
    assert beginning(nothing_known, data, tiny).settings.residual.products == 3


def test_who_cannot_be_regressed_begins_as_nothing(decay: Physics, decays: Decays, tiny: Settings):
    for changes in ({"residual__products": 0}, {"method": "bb-node"}, {"residual__composition": "multiplicative"}):
        network = beginning(decay, decays(12), tiny, **changes)
        assert not bool(said(network, 1.0).any()), changes
        assert held(network) == []


def test_products_are_held_until_latents_are_settled(decay: Physics, decays: Decays, tiny: Settings):
    first = beginning(decay, decays(12), tiny)
    (weight,) = held(first)
    settings = tiny.updated({"training.settle": 0.01})
    ended = fit(decay, decays(12), decays(6, seed=1), settings=settings, steps=5, quiet=True)
    after = dict(ended.network.dynamics.field.named_parameters())
    torch.testing.assert_close(after["products.coefficients.weight"], weight, atol=1e-6, rtol=0)
    assert bool(after["heads.0.weight"].any())
