from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.matching.stencils import end_velocity
from greymatch.simulation.start import Start, start_phase

NAN, INF = math.nan, math.inf


def quartic(t: torch.Tensor) -> torch.Tensor:
    return 1 + t - 2 * t**2 + 0.5 * t**3 - 0.1 * t**4


def quartic_velocity(t: torch.Tensor) -> torch.Tensor:
    return 1 - 4 * t + 1.5 * t**2 - 0.4 * t**3


def test_the_velocity_of_a_quartic_is_exact_on_uneven_times(recording):
    times = torch.tensor([[0.0, 0.1, 0.4, 0.5, 0.9, 1.2], [0.0, 0.2, 0.3, 0.7, 0.8, INF]], dtype=torch.float64)
    finite = times.isfinite()
    history = recording(times, torch.where(finite, quartic(times), NAN))
    phase = start_phase(history, 2)
    last = torch.tensor([1.2, 0.8], dtype=torch.float64)
    torch.testing.assert_close(phase, torch.stack([quartic(last), quartic_velocity(last)], 1))


def test_without_gaps_it_is_the_stencil_at_the_end(swings):
    history = swings[0].first(26)
    expected = torch.cat([history.values[:, -1], end_velocity(history.times, history.values, points=7)], 1)
    torch.testing.assert_close(start_phase(history, 2), expected, rtol=1e-10, atol=1e-12)


def test_gaps_are_stepped_over_state_by_state(recording):
    times = torch.arange(8, dtype=torch.float64) / 10
    values = torch.stack([quartic(times), 2 * times], 1)[None].clone()
    values[0, 6, 0] = NAN
    values[0, 7, 1] = NAN
    values[0, 3, 1] = NAN
    position, velocity = start_phase(recording(times, values), 2)[0].chunk(2)
    torch.testing.assert_close(position, torch.stack([quartic(times[7]), 2 * times[7]]))
    torch.testing.assert_close(velocity, torch.stack([quartic_velocity(times[7]), torch.tensor(2.0).double()]))


def test_a_state_not_observed_at_the_end_is_carried_there(recording):
    times = torch.tensor([0.0, 0.1, 0.3, 0.4, 0.6, 0.7, 0.8], dtype=torch.float64)
    cubic, slope = times**3 - times, 3 * times**2 - 1
    values = torch.stack([times, cubic], 1)[None].clone()
    values[0, -1, 1] = NAN
    position, velocity = start_phase(recording(times, values), 2)[0].chunk(2)
    torch.testing.assert_close(position, torch.stack([times[-1], cubic[-1]]))
    torch.testing.assert_close(velocity, torch.stack([torch.ones(()).double(), slope[-1]]))


def test_a_state_last_observed_long_ago_enters_as_it_was(recording):
    times = torch.arange(8, dtype=torch.float64)
    values = torch.stack([times, times**2], 1)[None].clone()
    values[0, 4:, 1] = NAN
    assert start_phase(recording(times, values), 1).tolist() == [[7.0, 9.0]]


def test_few_points_give_what_they_can(recording):
    phase = start_phase(recording([[0.0, 0.5, INF], [0.0, 1.0, 2.0]], [[1.0, 2.0, NAN], [0.0, 1.0, 4.0]]), 2)
    torch.testing.assert_close(phase, torch.tensor([[2.0, 2.0], [4.0, 4.0]]))


def test_fields_keep_their_grid(recording):
    times = torch.linspace(0, 1, 6, dtype=torch.float64)
    slopes = torch.arange(12.0).reshape(2, 2, 3).double()
    values = times.reshape(1, 6, 1, 1, 1) * slopes
    phase = start_phase(recording(times, values, grid=("y", "x")), 2)
    torch.testing.assert_close(phase[0], torch.cat([slopes, slopes]))


def test_too_little_history_is_refused(recording):
    single = recording([0.0, 1.0], [[1.0, 2.0], [3.0, NAN]], ["a", "b"])
    assert start_phase(single, 1).tolist() == [[2.0], [3.0]]
    with pytest.raises(GreymatchError, match=r"two observations.*state number 0 of trajectory number 1 has 1"):
        start_phase(single, 2)


def test_draws_of_a_noisy_start_vary_as_smoothing_says(swings, seed):
    history = replace(swings[0].first(26), noise=(0.02,))
    start = Start.of(history, 2)
    assert history.smooth is not None
    torch.testing.assert_close(start.phase, history.smooth.phase[:, 0, :2])
    drawn = start.drawn(4000, torch.Generator().manual_seed(seed), widening=2.0)
    phases = drawn.phase.reshape(4000, len(history), 2)
    torch.testing.assert_close(phases.mean(0), start.phase, rtol=0, atol=1e-9)
    wanted = 4 * history.smooth.covariance[0, 0, :2, :2]
    torch.testing.assert_close(torch.cov(phases[:, 0].T), wanted, rtol=0.1, atol=0.1 * float(wanted[0, 1].abs()))


def test_a_start_without_noise_is_the_same_for_all_draws(swings):
    start = Start.of(swings[0].first(26), 2)
    assert start.drawn(5, None) is start
    noisy = Start.of(replace(swings[0].first(26), noise=(0.02,)), 2)
    assert noisy.drawn(1, None) is noisy
