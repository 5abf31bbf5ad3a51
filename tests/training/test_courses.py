from __future__ import annotations

from dataclasses import replace

import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.training.courses import Course, integral

NOISE = 0.05
Damped = tuple[Network, Trajectories, torch.Tensor, torch.Tensor]


def noisy(data: Trajectories, seed: int) -> Trajectories:
    noise = torch.randn(data.values.shape, generator=torch.Generator().manual_seed(seed), dtype=data.values.dtype)
    return replace(data, values=data.values + NOISE * noise, noise=(NOISE, NOISE))


def error(course: Course, data: Trajectories) -> float:
    return float((course.values - data.values).square().mean().sqrt())


def test_integrals_of_a_cubic_are_exact():
    times = torch.tensor([0.0, 0.3, 0.5, 1.2, 1.3], dtype=torch.float64)[None, :, None]
    curve = 1 - 2 * times + 3 * times**2 - times**3, -2 + 6 * times - 3 * times**2
    once, twice = (integral(curve, times.diff(dim=1), order) for order in (1, 2))
    torch.testing.assert_close(once, times - times**2 + times**3 - times**4 / 4)
    torch.testing.assert_close(twice, times**2 / 2 - times**3 / 3 + times**4 / 4 - times**5 / 20)


def test_the_true_field_leads_closer_to_the_truth_than_smoothing(known: Damped, seed: int):
    network, data, k, d = known
    shaken = noisy(data, seed)
    latents = Latents(((k - 2) / 0.4)[:, None].float(), (2 * d - 1)[:, None].float())
    smoothed = Course.smoothed(shaken, order=1)
    found = smoothed.along(network, shaken, latents)
    assert error(smoothed, data) < 0.8 * NOISE
    assert error(found, data) < 0.85 * error(smoothed, data)
    assert error(found.along(network, shaken, latents), data) < 0.85 * error(smoothed, data)
    assert float(found.doubt.mean()) < 0.7 * float(smoothed.doubt.mean())


def test_a_wrong_field_does_little_harm(known: Damped, seed: int):
    network, data, _, _ = known
    shaken = noisy(data, seed)
    wrong = Latents(torch.full((len(data), 1), 3.0), torch.full((len(data), 1), -3.0))
    smoothed = Course.smoothed(shaken, order=1)
    assert error(smoothed.along(network, shaken, wrong), data) < 1.3 * error(smoothed, data)


def test_recordings_of_different_lengths_go_their_own_ways(known: Damped, seed: int):
    network, data, k, d = known
    shaken = noisy(data, seed)
    latents = Latents(((k - 2) / 0.4)[:, None].float(), (2 * d - 1)[:, None].float())
    short = shaken.first(20)
    alone = Course.smoothed(short, order=1).along(network, short, latents)
    times = shaken.times.clone()
    times[:6, 20:] = torch.inf
    mask = times.isfinite()[..., None].expand_as(shaken.mask)
    ragged = replace(shaken, times=times, mask=mask, values=shaken.values * mask)
    found = Course.smoothed(ragged, order=1).along(network, ragged, latents)
    torch.testing.assert_close(found.values[:6, :20], alone.values[:6], rtol=0, atol=1e-4)
