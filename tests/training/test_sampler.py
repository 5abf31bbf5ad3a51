from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.observed import interpolated
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training import sampler as module
from greymatch.training.sampler import Sampler

Decays = Callable[..., Trajectories]


def sampler(physics: Physics, data: Trajectories, settings: Settings) -> Sampler:
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.tensor([0]))
    return Sampler.of(Network.fitting(physics, settings, Scales.of(data, path), window), data, path)


def test_a_batch_holds_points_of_the_path_in_its_windows_and_their_future(
    decay: Physics, decays: Decays, tiny: Settings
):
    data = decays(12)
    sample = sampler(decay, data, tiny).draw(64, torch.Generator().manual_seed(0))
    matched = sample.matched
    assert matched.position.shape == (64, tiny.matching.past + tiny.matching.points, 1)
    assert bool(sample.trusted.all())
    k = torch.as_tensor(data.truth["k"])[sample.rows, None, None]
    # the exact solution obeys x' = 0.5 - k x, and so does its interpolant, nearly
    torch.testing.assert_close(matched.velocity, (0.5 - k * matched.position).float(), rtol=0, atol=1e-3)


def test_features_kept_in_a_bank_are_those_made_on_the_way(
    decay: Physics, decays: Decays, tiny: Settings, monkeypatch: pytest.MonkeyPatch
):
    with torch.random.fork_rng(devices=[]):
        banked = sampler(decay, decays(12), tiny).draw(32, torch.Generator().manual_seed(0))
        monkeypatch.setattr(module, "BANK_BYTES", 0)
        made = sampler(decay, decays(12), tiny).draw(32, torch.Generator().manual_seed(0))
    assert torch.equal(banked.rows, made.rows)
    for mine, its in zip(banked.features, made.features, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-5)


def test_histories_of_every_length_are_drawn(decay: Physics, decays: Decays, tiny: Settings):
    settings = tiny.updated({"window": 12, "shortest": 4})
    assert settings.lengths == (12, 8, 5, 4)
    found = sampler(decay, decays(12), settings)
    generator = torch.Generator().manual_seed(0)
    blank = set()
    for _ in range(60):
        features = found.draw(4, generator).features
        assert features.sequence.shape[1] == 12
        blank.add(int((features.sequence.abs().amax(2) == 0).sum(1).unique().item()))
    assert blank == {0, 4, 7, 8}


def test_the_generator_decides_the_batch(decay: Physics, decays: Decays, tiny: Settings):
    drawing = sampler(decay, decays(12), tiny)
    one, same, other = (drawing.draw(16, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.matched.time, same.matched.time)
    assert not torch.equal(one.matched.time, other.matched.time)
