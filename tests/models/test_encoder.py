from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.models.encoder import FIRST_LOG_STD
from greymatch.models.features import Features
from greymatch.models.network import Network

Build = Callable[..., Network]
KINDS = [
    ("mlp", ()),
    ("gru", ()),
    ("conv", ()),
    ("mlp", (5,)),
    ("gru", (5,)),
    ("conv", (5,)),
    ("mlp", (4, 3)),
    ("conv", (4, 3)),
]


def features_of(network: Network, waves: Callable[..., Trajectories], rows: int = 7) -> Features:
    windows = Windows.of(waves(network.physics.order, network.shapes.grid), network.settings.window)
    return network.features(windows.gather(torch.arange(rows)))


def some(features: Features, rows: list[int]) -> Features:
    return Features(*(part[rows] for part in features))


@pytest.mark.parametrize(("kind", "grid"), KINDS)
def test_every_kind_reads_every_shape_row_by_row(
    build: Build, waves: Callable[..., Trajectories], kind: str, grid: tuple[int, ...]
):
    network = build(2, grid, trained=True, encoder__kind=kind)
    features = features_of(network, waves)
    whole = network.encode(features, None, sample=False)
    assert whole.latents.eps.shape == (7, 2)
    assert whole.latents.z.shape == (7, 2)
    assert bool((whole.latents.eps.std(0) > 0).all()), "different windows give different answers"
    order = [4, 0, 6, 2]
    part = network.encode(some(features, order), None, sample=False)
    for mine, its in [(whole.latents.eps, part.latents.eps), (whole.z.log_std, part.z.log_std)]:
        torch.testing.assert_close(mine[order], its, rtol=1e-2, atol=5e-3)
    one = network.encode(some(features, [3]), None, sample=False)
    torch.testing.assert_close(one.latents.z[0], whole.latents.z[3], rtol=1e-2, atol=5e-3)


@pytest.mark.parametrize("kind", ["mlp", "gru", "conv"])
def test_the_sequence_and_the_summary_both_matter(build: Build, waves: Callable[..., Trajectories], kind: str):
    network = build(trained=True, encoder__kind=kind)
    features = features_of(network, waves)
    base = network.encode(features, None, sample=False).latents.eps
    for changed in (
        features._replace(sequence=features.sequence.flip(1)),
        features._replace(summary=features.summary + 0.1),
    ):
        assert bool((network.encode(changed, None, sample=False).latents.eps - base).abs().max() > 1e-4)


def test_theta_depends_on_the_sample_of_z(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True)
    features = some(features_of(network, waves), [0] * 500)
    encoded = network.encode(features, torch.Generator().manual_seed(0))
    assert float(encoded.z.mean.std(0).max()) < 1e-6, "one window has one law of z"
    assert float(encoded.eps.mean.std(0).min()) > 1e-4, "but its theta's law moves with z"
    joined = torch.cat([encoded.eps.mean, encoded.latents.z], 1).T.corrcoef().abs()
    assert float(joined[:2, 2:].max()) > 0.5


def test_without_z_theta_has_one_law(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True, encoder__latents=0)
    encoded = network.encode(some(features_of(network, waves), [0] * 50), torch.Generator().manual_seed(0))
    assert encoded.latents.z.shape == (50, 0)
    assert float(encoded.eps.mean.std(0).max()) < 1e-6
    assert encoded.z.kl().tolist() == [0.0] * 50


def test_an_untrained_encoder_sits_at_the_priors_centre(build: Build, waves: Callable[..., Trajectories]):
    network = build()
    encoded = network.encode(features_of(network, waves), None, sample=False)
    assert not encoded.eps.mean.any()
    assert encoded.eps.log_std.unique().tolist() == [FIRST_LOG_STD]


def test_draws_have_the_moments_of_the_law_they_come_from(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True)
    encoded = network.encode(some(features_of(network, waves), [1] * 20_000), torch.Generator().manual_seed(0))
    z = encoded.latents.z
    std = encoded.z.log_std[0].exp()
    torch.testing.assert_close(z.std(0), std, rtol=0.03, atol=0)
    assert bool(((z.mean(0) - encoded.z.mean[0]).abs() < 4 * std / 20_000**0.5).all())


def test_the_generator_decides_the_draw(build: Build, waves: Callable[..., Trajectories]):
    network = build(trained=True)
    features = features_of(network, waves)
    one, same, other = (network.encode(features, torch.Generator().manual_seed(s)).latents.eps for s in (3, 3, 4))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
