from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.models.cleansing import CleansingEncoder
from greymatch.models.features import Features
from greymatch.models.network import Network
from greymatch.models.sight import Sight

Build = Callable[..., Network]
Waves = Callable[..., Trajectories]
CASES = [((), "mlp"), ((), "gru"), ((4, 3), "conv")]


def seen(network: Network, waves: Waves) -> Features:
    windows = Windows.of(waves(network.physics.order, network.shapes.grid), network.settings.window)
    return network.features(windows.gather(torch.arange(4)))


def given(network: Network, waves: Waves) -> Features:
    """What the encoder itself gets."""
    return network.informed(seen(network, waves))


def encoder_of(network: Network) -> CleansingEncoder:
    assert isinstance(network.encoder, CleansingEncoder)
    return network.encoder


@pytest.mark.parametrize(("grid", "kind"), CASES)
def test_cleansing_starts_as_nothing_and_then_moves_the_values_alone(
    build: Build, waves: Waves, grid: tuple[int, ...], kind: str
):
    network = build(grid=grid, method="physvae", encoder__kind=kind)
    features, z = given(network, waves), torch.zeros(4, 2)
    assert torch.equal(encoder_of(network).cleansed(features, z).sequence, features.sequence)
    network = build(grid=grid, method="physvae", encoder__kind=kind, trained=True)
    cleansed = encoder_of(network).cleansed(features, z)
    moved = (
        (cleansed.sequence != features.sequence).flatten(3).any(3) if grid else cleansed.sequence != features.sequence
    )
    assert bool(moved[:, :, :2].all())
    assert not moved[:, :, 2:].any()
    assert torch.equal(cleansed.summary, features.summary)


def test_theta_feels_z_through_the_cleansing_alone(build: Build, waves: Waves):
    network = build(method="physvae", trained=True)
    encoder, features = encoder_of(network), given(network, waves)
    one, two = (encoder.of_physics(encoder.cleansed(features, torch.full((4, 2), z))) for z in (0.0, 1.0))
    assert not torch.equal(one.mean, two.mean)
    encoder.out.weight.zero_()
    one, two = (encoder.of_physics(encoder.cleansed(features, torch.full((4, 2), z))) for z in (0.0, 1.0))
    assert torch.equal(one.mean, two.mean)


def test_points_that_the_window_lacks_are_not_corrected(build: Build, waves: Waves):
    network = build(method="physvae", trained=True)
    windows = Windows.of(waves(1, ()), 4)
    features = network.informed(network.features(windows.gather(torch.arange(4))))
    correction = encoder_of(network).correction(features, torch.zeros(4, 2))
    assert not correction[:, :2].any()
    assert bool(correction[:, 2:].all())


def test_the_posterior_is_drawn_and_widened_as_by_any_encoder(build: Build, waves: Waves):
    network = build(method="physvae", trained=True)
    features = seen(network, waves)
    mean = network.central(Sight(features, None)).latents
    drawn = network.draw(Sight(features, None), 2000, torch.Generator().manual_seed(0)).latents.z.reshape(2000, 4, 2)
    std = network.encode(features, None, sample=False).z.log_std.exp()
    assert bool(((drawn.mean(0) - mean.z).abs() < 5 * std / 2000**0.5).all())
    torch.testing.assert_close(drawn.std(0), std, rtol=0.1, atol=0)


def test_nets_with_a_solver_in_the_loop_are_as_large_as_those_of_matching(build: Build):
    sizes = [
        sum(p.numel() for p in build(method=method, encoder__width=128, residual__width=64).parameters())
        for method in ("vgb-dm", "physvae", "bb-node")
    ]
    assert sizes[0] < sizes[1] < 1.2 * sizes[0]
    assert 0.7 * sizes[0] < sizes[2] < sizes[0]
