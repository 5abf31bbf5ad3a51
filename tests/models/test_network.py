from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

import greymatch.models.network as module
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows, last_window
from greymatch.errors import GreymatchError
from greymatch.models.network import Network

Build = Callable[..., Network]


def windows_of(network: Network, waves: Callable[..., Trajectories]) -> Windows:
    return Windows.of(waves(network.physics.order, network.shapes.grid), network.settings.window)


def cut(history: Trajectories, lengths: dict[int, int]) -> Trajectories:
    """The history with some of its rows ending early."""
    times, values, mask = history.times.clone(), history.values.clone(), history.mask.clone()
    for row, length in lengths.items():
        times[row, length:], values[row, length:], mask[row, length:] = torch.inf, 0.0, False
    return replace(history, times=times, values=values, mask=mask)


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
    sight = network.look(windows_of(network, waves).gather(torch.arange(5)))
    mean = network.draw(sight, 1, None)
    assert not mean.kick.any()
    assert torch.equal(mean.latents.z, network.encode(sight.features, None, sample=False).latents.z)
    many = network.draw(sight, 3000, torch.Generator().manual_seed(0)).latents.z.reshape(3000, 5, -1)
    std = network.encode(sight.features, None, sample=False).z.log_std.exp()
    assert bool(((many.mean(0) - mean.latents.z).abs() < 5 * std / 3000**0.5).all())
    torch.testing.assert_close(many.std(0), std, rtol=0.1, atol=0)


def test_many_draws_are_made_in_parts_that_fit_in_memory(
    build: Build, waves: Callable[..., Trajectories], monkeypatch: pytest.MonkeyPatch
):
    network = build(trained=True)
    sight = network.look(windows_of(network, waves).gather(torch.arange(5)))
    sizes = []
    forward = network.encoder.forward

    def counted(features, *arguments, **more):
        sizes.append(len(features.summary) * more["copies"])
        return forward(features, *arguments, **more)

    monkeypatch.setattr(network.encoder, "forward", counted)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 4 * sight.features.sequence.numel())
    drawn = network.draw(sight, 10, torch.Generator().manual_seed(0)).latents
    assert sizes == [20, 20, 10]
    assert drawn.eps.shape == (50, 2)
    assert len(drawn.eps.unique(dim=0)) == 50


def test_widening_widens_the_draws_and_not_their_centre(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True, encoder__latents=0)
    sight = network.look(windows_of(network, waves).gather(torch.tensor([2])))
    narrow = network.draw(sight, 4000, torch.Generator().manual_seed(0)).latents.eps
    network.widening.fill_(3.0)
    wide = network.draw(sight, 4000, torch.Generator().manual_seed(0)).latents.eps
    mean = network.draw(sight, 1, None).latents.eps
    torch.testing.assert_close(wide.mean(0), mean[0], rtol=0, atol=1e-3)
    before, after = narrow.var(0), wide.var(0)
    torch.testing.assert_close(after, 9 * before / (1 + 8 * before.clamp_max(1)), rtol=2e-2, atol=0)
    assert bool((after > before).any())
    assert bool((after[before < 1] < 1).all()), "no wider than the prior"


def test_members_carry_the_error_that_matching_left(build: Build, waves: Callable[..., Trajectories]):
    network = build(2, trained=True)
    sight = network.look(windows_of(network, waves).gather(torch.tensor([2, 5])))
    network.noise.copy_(torch.tensor([0.1, 0.0]))
    network.widening.fill_(2.0)
    kick = network.draw(sight, 5000, torch.Generator().manual_seed(0)).kick.reshape(5000, 2, 2)
    wanted = 2 * 0.1 * network.scales.acceleration[0] * sight.features.amplitude[:, 0]
    torch.testing.assert_close(kick[:, :, 0].std(0), wanted, rtol=0.05, atol=0)
    assert bool((kick[:, :, 0].mean(0).abs() < 5 * wanted / 5000**0.5).all())
    assert not kick[:, :, 1].any()
    network.kicked.fill_(0.0)
    assert not network.draw(sight, 3, None).kick.any()


def test_short_windows_are_read_like_long_ones(build: Build, waves: Callable[..., Trajectories]):
    for kind in ("mlp", "gru", "conv"):
        network = build(trained=True, encoder__kind=kind, shortest=3)
        assert network.settings.lengths[0] == 6
        assert network.settings.lengths[-1] == 3
        ragged = cut(waves(1, ()), {1: 4})
        seen = network.observe(ragged).features
        alone = network.observe(ragged.select([1])).features
        for mine, its in zip(seen, alone, strict=True):
            torch.testing.assert_close(mine[1:2], its, rtol=1e-4, atol=1e-5)
        assert seen.sequence.shape[:2] == (5, 6)


def test_windows_are_asked_themselves_only_when_refined(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True)
    window = windows_of(network, waves).gather(torch.arange(4))
    assert network.look(window).own is None
    network.refined.fill_(1.0)
    own = network.look(window).own
    assert own is not None
    assert torch.equal(network.central(network.look(window)).latents.z, own.latents().z)
    network.noise.fill_(0.3)
    vague = network.look(window).own
    assert vague is not None
    sizes = [torch.linalg.det(law.startless().root).abs() for law in (vague, own)]
    assert bool((sizes[0] > sizes[1]).all())


@pytest.mark.parametrize(
    ("changes", "can"),
    [
        ({}, True),
        ({"method": "gb-dm"}, True),
        ({"method": "vbb-dm"}, True),
        ({"method": "vbb-dm", "encoder__latents": 0}, False),
        ({"method": "tfm"}, False),
        ({"method": "bb-node"}, False),
        ({"method": "physvae"}, False),
        ({"encoder__refine": False}, False),
        ({"shortest": 4}, True),
        ({"shortest": 3}, True),
    ],
)
def test_what_can_be_refined(build: Build, waves: Callable[..., Trajectories], changes: dict[str, object], can: bool):
    network = build(trained=True, **changes)
    assert network.prefers_asking == can
    network.refined.fill_(1.0)
    assert (network.look(windows_of(network, waves).gather(torch.arange(2))).own is not None) == can


def test_many_windows_are_asked_in_parts_that_fit_in_memory(
    build: Build, waves: Callable[..., Trajectories], monkeypatch: pytest.MonkeyPatch
):
    network = build(1, (4, 3), encoder__kind="conv", trained=True)
    network.refined.fill_(1.0)
    window = windows_of(network, waves).gather(torch.arange(7))
    whole = network.look(window).own
    monkeypatch.setattr(module, "SLOPES_AT_ONCE", 2 * window.values[0].numel() * 4)
    parts = network.look(window).own
    assert whole is not None
    assert parts is not None
    torch.testing.assert_close(parts.mean, whole.mean, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(parts.root, whole.root, rtol=1e-2, atol=1e-3)


def test_histories_of_mixed_lengths_are_each_asked_as_if_alone(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True, shortest=4)
    network.refined.fill_(1.0)
    ragged = cut(waves(1, ()), {1: 4, 3: 5})
    sight = network.observe(ragged)
    assert sight.own is not None
    for row in range(5):
        alone = network.observe(ragged.select([row])).own
        assert alone is not None
        torch.testing.assert_close(sight.own.mean[row : row + 1], alone.mean, rtol=1e-3, atol=1e-3, equal_nan=True)


def test_a_window_that_is_asked_itself_is_as_long_as_its_history(build: Build, waves: Callable[..., Trajectories]):
    """No point is left out because the encoder knows windows of other lengths; short ones need no setting."""
    network = build(trained=True)
    network.refined.fill_(1.0)
    five = waves(1, ()).first(5)
    assert network.settings.lengths == (6,)
    sight, alone = network.observe(five), network.look(last_window(five, 5))
    assert sight.own is not None
    assert alone.own is not None
    torch.testing.assert_close(sight.own.mean, alone.own.mean, equal_nan=True)
    with pytest.raises(GreymatchError, match="at least 5 points"):
        network.observe(five.first(4))
    with pytest.raises(GreymatchError, match="at least 6 points"):
        network.observe(five, refine=False)


def test_draws_of_a_refined_network_are_those_of_each_window(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True)
    network.refined.fill_(1.0)
    network.widening.fill_(2.0)
    network.doubt.copy_(torch.tensor([1.0, 3.0]))
    sight = network.look(windows_of(network, waves).gather(torch.arange(3)))
    assert sight.own is not None
    std, wide = (
        (law.root @ law.root.mT).diagonal(dim1=1, dim2=2).sqrt() for law in (sight.own, sight.own.widened(2.0))
    )
    eps = network.draw(sight, 4000, torch.Generator().manual_seed(0)).latents.eps.reshape(4000, 3, 2)
    torch.testing.assert_close(eps.std(0), wide[:, :2].float(), rtol=0.05, atol=0)
    eps = network.draw_parameters(sight, 4000, torch.Generator().manual_seed(0))
    told = 1 / std[:, :2].square() - 1  # by the data; the prior's precision is 1
    torch.testing.assert_close(eps.std(0), (1 + told / network.doubt.square()).rsqrt(), rtol=0.05, atol=0)


@pytest.mark.parametrize(("doubt", "blind"), [(1e-5, 0.0), (100.0, 0.0), (100.0, 1.0)])
def test_no_parameter_is_less_certain_than_its_prior(
    build: Build, waves: Callable[..., Trajectories], doubt: float, blind: float
):
    network = build(trained=True)
    network.doubt.fill_(doubt)
    network.blind.fill_(blind)
    sight = network.look(windows_of(network, waves).gather(torch.arange(3)), refine=True)
    assert sight.own is not None
    prior = torch.eye(sight.own.mean.shape[1]).to(sight.own.root).expand_as(sight.own.root)
    nothing_told = replace(sight, own=replace(sight.own, root=prior))
    eps = network.draw_parameters(nothing_told, 4000, torch.Generator().manual_seed(0))
    assert bool(eps.isfinite().all())
    assert float(eps.std(0).max()) < 1.05
    assert float(eps.std(0).min()) > 0.95  # nor more certain: nothing was told


def test_what_no_window_sees_leaves_a_parameter_nearer_to_its_prior(build: Build, waves: Callable[..., Trajectories]):
    """An exact measurement beside an error of variance 1: half of it is believed, and half the variance is left."""
    network = build(trained=True)
    sight = network.look(windows_of(network, waves).gather(torch.arange(3)), refine=True)
    assert sight.own is not None
    exact = replace(
        sight,
        own=replace(
            sight.own, root=1e-6 * torch.eye(sight.own.mean.shape[1]).to(sight.own.root).expand_as(sight.own.root)
        ),
    )
    seen = network.draw_parameters(exact, 4000, torch.Generator().manual_seed(0)).mean(0)
    network.blind.fill_(1.0)
    eps = network.draw_parameters(exact, 4000, torch.Generator().manual_seed(0))
    torch.testing.assert_close(eps.mean(0), seen / 2, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(eps.var(0), torch.full_like(seen, 0.5), rtol=0.1, atol=0)


def test_a_deterministic_method_has_only_the_means_of_each_window(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True, method="gb-dm")
    network.refined.fill_(1.0)
    sight = network.look(windows_of(network, waves).gather(torch.arange(3)))
    assert sight.own is not None
    drawn = network.draw(sight, 4, None).latents
    assert torch.equal(drawn.eps, sight.own.latents().eps.float().repeat(4, 1))
