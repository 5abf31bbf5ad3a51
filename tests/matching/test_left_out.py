from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.matching.left_out import derivative_doubt, left_out_error

Recording = Callable[..., Trajectories]


def wave(recording: Recording, step: float) -> Trajectories:
    times = torch.arange(0, 20, step, dtype=torch.float64)
    return recording(times, torch.sin(times).repeat(3, 1))


@pytest.mark.parametrize(("name", "order"), [("linear", 2), ("cubic", 4), ("quintic", 6)])
def test_the_error_falls_at_least_with_the_order_of_the_interpolant(recording: Recording, name: str, order: int):
    coarse, fine = (float(left_out_error(wave(recording, step), name)) for step in (0.4, 0.2))
    assert coarse / fine > 0.9 * 2**order


def test_noise_shows_as_it_is(recording: Recording, seed: int):
    clean = wave(recording, 0.1)
    noisy = replace(clean, values=clean.values + 0.05 * torch.randn(clean.values.shape))
    relative = 0.05 / float(clean.values.std())
    assert relative < float(left_out_error(noisy, "linear")) < 2 * relative


def test_derivatives_of_clean_samples_are_sure_and_of_noise_are_not(recording: Recording, seed: int):
    clean = wave(recording, 0.1)
    assert float(derivative_doubt(clean, "quintic", 2)) < 0.01
    noise = replace(clean, values=torch.randn(clean.values.shape).double())
    assert float(derivative_doubt(noise, "quintic", 2)) > 0.8


def test_noise_that_is_assumed_is_smoothed_away_before(recording: Recording, seed: int):
    clean = wave(recording, 0.1)
    noisy = replace(clean, values=clean.values + 0.01 * torch.randn(clean.values.shape))
    assumed = replace(noisy, noise=(0.01,))
    assert float(derivative_doubt(noisy, "cubic", 1)) > 3 * float(derivative_doubt(assumed, "cubic", 1))
    assert float(left_out_error(assumed, "cubic")) < float(left_out_error(noisy, "cubic"))


def test_too_few_samples_tell_nothing(recording: Recording):
    assert bool(left_out_error(recording([0.0, 1.0], [[1.0, 2.0]]), "cubic").isnan().all())
