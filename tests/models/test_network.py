from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

import greymatch.models.network as module
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.models.network import Network

Build = Callable[..., Network]


def windows_of(network: Network, waves: Callable[..., Trajectories]) -> Windows:
    return Windows.of(waves(network.physics.order, network.shapes.grid), network.settings.window)


def test_shapes_fit_the_features(build: Build, waves: Callable[..., Trajectories]):
    network = build(2, (4, 3), encoder__kind="conv", residual__kind="conv")
    features = network.features(windows_of(network, waves).gather(torch.arange(3)))
    assert features.sequence.shape == (3, network.shapes.window, network.shapes.channels, *network.shapes.grid)
    assert features.summary.shape == (3, network.shapes.summary)
    assert network.shapes.free == 2


def test_the_scales_come_back_and_are_no_weights(build: Build):
    network = build(2)
    assert network.scales.velocity.shape == (2,)
    assert not any("scale" in name for name in network.state_dict())


def test_a_black_box_knows_no_physics(build: Build, waves: Callable[..., Trajectories]):
    network = build(method="vbb-dm", complete=("a",), trained=True)
    assert network.shapes.free == 0
    features = network.features(windows_of(network, waves).gather(torch.arange(4)))
    latents = network.encode(features, None, sample=False).latents
    parts = network.dynamics.parts(torch.zeros(4), torch.randn(4, 2), latents)
    assert not parts.physics.any()
    assert bool(parts.total.all()), "all equations are learned, whatever is complete for a grey box"


@pytest.mark.parametrize("changes", [{"method": "vbb-dm"}, {"encoder__latents": 0}])
def test_nets_without_outputs_are_made_without_a_warning(build: Build, changes: dict[str, object]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(**changes)


def test_a_single_draw_is_the_mean_and_many_are_draw_after_draw(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True)
    features = network.features(windows_of(network, waves).gather(torch.arange(5)))
    mean = network.draw(features, 1, None)
    assert not mean.kick.any()
    assert torch.equal(mean.latents.z, network.encode(features, None, sample=False).latents.z)
    many = network.draw(features, 3000, torch.Generator().manual_seed(0)).latents.z.reshape(3000, 5, -1)
    std = network.encode(features, None, sample=False).z.log_std.exp()
    assert bool(((many.mean(0) - mean.latents.z).abs() < 5 * std / 3000**0.5).all())
    torch.testing.assert_close(many.std(0), std, rtol=0.1, atol=0)


def test_many_draws_are_made_in_parts_that_fit_in_memory(
    build: Build, waves: Callable[..., Trajectories], monkeypatch: pytest.MonkeyPatch
):
    network = build(trained=True)
    features = network.features(windows_of(network, waves).gather(torch.arange(5)))
    sizes = []
    forward = network.encoder.forward

    def counted(features, *arguments, **more):
        sizes.append(len(features.summary) * more["copies"])
        return forward(features, *arguments, **more)

    monkeypatch.setattr(network.encoder, "forward", counted)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 4 * features.sequence.numel())
    drawn = network.draw(features, 10, torch.Generator().manual_seed(0)).latents
    assert sizes == [20, 20, 10]
    assert drawn.eps.shape == (50, 2)
    assert len(drawn.eps.unique(dim=0)) == 50


def test_widening_widens_the_draws_and_not_their_centre(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True, encoder__latents=0)
    features = network.features(windows_of(network, waves).gather(torch.tensor([2])))
    narrow = network.draw(features, 4000, torch.Generator().manual_seed(0)).latents.eps
    network.widening.fill_(3.0)
    wide = network.draw(features, 4000, torch.Generator().manual_seed(0)).latents.eps
    mean = network.draw(features, 1, None).latents.eps
    torch.testing.assert_close(wide - mean, 3 * (narrow - mean), rtol=1e-3, atol=1e-4)


def test_members_carry_the_error_that_matching_left(build: Build, waves: Callable[..., Trajectories]):
    network = build(2, trained=True)
    features = network.features(windows_of(network, waves).gather(torch.tensor([2, 5])))
    network.noise.copy_(torch.tensor([0.1, 0.0]))
    network.widening.fill_(2.0)
    kick = network.draw(features, 5000, torch.Generator().manual_seed(0)).kick.reshape(5000, 2, 2)
    wanted = 2 * 0.1 * network.scales.acceleration[0] * features.amplitude[:, 0]
    torch.testing.assert_close(kick[:, :, 0].std(0), wanted, rtol=0.05, atol=0)
    assert bool((kick[:, :, 0].mean(0).abs() < 5 * wanted / 5000**0.5).all())
    assert not kick[:, :, 1].any()


def test_short_windows_are_read_like_long_ones(build: Build, waves: Callable[..., Trajectories]):
    for kind in ("mlp", "gru", "conv"):
        network = build(trained=True, encoder__kind=kind, shortest=3)
        assert network.settings.lengths[0] == 6
        assert network.settings.lengths[-1] == 3
        history = waves(1, ())
        times, values, mask = history.times.clone(), history.values.clone(), history.mask.clone()
        times[1, 4:], values[1, 4:], mask[1, 4:] = torch.inf, 0.0, False
        ragged = replace(history, times=times, values=values, mask=mask)
        seen = network.observe(ragged)
        alone = network.observe(ragged.select([1]))
        for mine, its in zip(seen, alone, strict=True):
            torch.testing.assert_close(mine[1:2], its, rtol=1e-4, atol=1e-5)
        assert seen.sequence.shape[:2] == (5, 6)
