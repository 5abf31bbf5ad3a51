from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.models.greybox import GreyBox
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.models.whole import LONGEST_PATH, _counts, seen_whole, whole, whole_amplitude


def test_all_of_a_recording_tells_more_than_its_last_window(known):
    network, data, k, _ = known
    model = GreyBox(network.physics, network)
    window, recording = (model.infer(data, draws=400, refine=True, whole=flag) for flag in (False, True))
    assert float(recording.draws.std(0).mean()) < 0.8 * float(window.draws.std(0).mean())
    torch.testing.assert_close(recording.draws.mean(0)[:, 0].double(), k, atol=0.01, rtol=0)


def test_recordings_of_different_lengths_are_each_told_as_if_alone(known):
    network, data, _, _ = known
    mask = data.mask.clone()
    mask[0, 20:], mask[5, 14:] = False, False
    ragged = replace(data, mask=mask)
    together = whole(network, ragged)
    for row in (0, 5, 7):
        alone = whole(network, ragged.select([row]))
        torch.testing.assert_close(together.mean[row], alone.mean[0], atol=1e-4, rtol=0)


def test_amplitudes_are_those_of_all_that_was_seen_whatever_fills_the_gaps(known):
    network, data, _, _ = known
    mask = data.mask.clone()
    mask[3, 10:20, 0] = False
    gappy = replace(data, mask=mask, values=data.values.masked_fill(~mask, 1e6))
    found = whole_amplitude(network, gappy)
    seen = torch.cat([data.values[3, :10, 0], data.values[3, 20:, 0]])
    floor = network.settings.matching.amplitude_floor
    expected = float(seen.std(unbiased=False)) / float(network.scales.spread[0])
    assert float(found[3, 0]) == pytest.approx((expected**2 + floor**2) ** 0.5, rel=1e-5)
    torch.testing.assert_close(found[:3], whole_amplitude(network, data)[:3])


def test_a_model_without_a_field_cannot_be_asked(build, waves):
    network = build(method="tfm")
    with pytest.raises(GreymatchError, match="Leave them out"):
        GreyBox(network.physics, network).forecast(waves(1, ()), [3.0], refine=True)


def long(data: Trajectories, k: Tensor, d: Tensor, points: int, step: float = 0.1) -> Trajectories:
    """The same oscillators for as many points."""
    t = torch.arange(points, dtype=torch.float64) * step
    root, rate = (k - d**2 / 4).sqrt()[:, None], d[:, None] / 2
    a = (-rate * t).exp() * ((root * t).cos() + rate / root * (root * t).sin())
    b = -(-rate * t).exp() * (k[:, None] / root) * (root * t).sin()
    values = torch.stack([a, b], -1)
    return replace(data, times=t.repeat(len(k), 1), values=values, mask=torch.ones_like(values, dtype=torch.bool))


def noisy(data: Trajectories, size: float, seed: int) -> Trajectories:
    noise = torch.randn(data.values.shape, generator=torch.Generator().manual_seed(seed), dtype=data.values.dtype)
    return replace(data, values=data.values + size * noise, noise=(size, size))


def off(network: Network, law: Laplace, k: Tensor) -> Tensor:
    return (2 + 0.4 * law.mean[:, 0].double() - k).abs()


def test_a_recording_too_long_for_one_path_is_told_as_sharply_by_paths_through_its_parts(known):
    network, data, k, d = known
    short, lengthy = (seen_whole(network, long(data, k, d, count)).own for count in (LONGEST_PATH, 3 * LONGEST_PATH))
    assert short is not None
    assert lengthy is not None
    assert float(off(network, lengthy, k).max()) < 1e-8
    assert bool((lengthy.spread < 2 * short.spread).all())
    assert not lengthy.phases


@torch.no_grad()
def test_in_noise_a_recording_tells_more_than_any_window_and_as_much_as_it_says(known, seed: int):
    network, data, k, d = known
    network.observed.fill_(0.02)
    misses, sharper = [], []
    for place in range(6):
        shown = noisy(long(data, k, d, 60), 0.02, seed + place)
        window, recording = network.observe(shown.first(12), refine=True).own, seen_whole(network, shown).own
        assert window is not None
        assert recording is not None
        misses.append((recording.mean[:, 0].double() - (k - 2) / 0.4) / recording.spread[:, 0])
        sharper.append(recording.spread[:, 0] / window.spread[:, 0])
    assert 0.75 < float(torch.cat(misses).square().mean().sqrt()) < 1.3
    assert float(torch.cat(sharper).median()) < 0.6


def test_parts_that_show_nothing_of_a_state_are_left_out(known):
    network, data, k, d = known
    network.observed.fill_(0.02)
    shown = noisy(long(data, k, d, 96), 0.02, 0)
    mask = shown.mask.clone()
    mask[3, 20:50, 1] = False
    found, whole = (seen_whole(network, data).own for data in (replace(shown, mask=mask), shown))
    assert found is not None
    assert whole is not None
    wrong = (found.mean[:, 0].double() - (k - 2) / 0.4) / found.spread[:, 0]
    assert float(wrong.abs().max()) < 4
    assert 1.0 <= float(found.spread[3, 0] / whole.spread[3, 0]) < 2


@pytest.mark.parametrize(
    ("length", "noise", "wanted"),
    [
        (200, False, [1]),
        (600, False, [3]),
        (11, True, [1]),
        (200, True, [16, 8, 4, 2, 1]),
        (600, True, [48, 24, 12, 6, 3]),
    ],
)
def test_parts_are_as_long_as_paths_may_be_and_in_noise_grow(known, length: int, noise: bool, wanted: list[int]):
    assert _counts(known[0], length, noise) == wanted
