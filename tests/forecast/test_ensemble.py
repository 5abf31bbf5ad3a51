from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from greymatch.forecast import ensemble

NAN = math.nan


def gaussian_crps(mean: Tensor, std: Tensor, truth: Tensor) -> Tensor:
    """Closed form: std (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi))."""
    z = (truth - mean) / std
    density = torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return std * (z * (2 * torch.special.ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))


def test_crps_of_many_gaussian_draws_is_the_closed_form(seed):
    mean, std = torch.tensor([0.0, 1.0, -2.0]), torch.tensor([1.0, 0.1, 3.0])
    truth = torch.tensor([0.5, 1.0, 4.0])
    draws = mean + std * torch.randn(200_000, 3)
    torch.testing.assert_close(
        ensemble.crps(draws.double(), truth.double()), gaussian_crps(mean, std, truth).double(), rtol=0.01, atol=0
    )


@pytest.mark.parametrize("count", [2, 3, 10])
def test_crps_is_unbiased_for_few_draws(seed, count):
    truth = torch.tensor(0.7).double()
    found = ensemble.crps(torch.randn(count, 200_000).double(), truth.expand(200_000)).mean()
    exact = gaussian_crps(torch.tensor(0.0), torch.tensor(1.0), truth)
    assert float(found) == pytest.approx(float(exact), abs=6e-3)


@settings(max_examples=50)
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=7), st.floats(-10, 10))
def test_crps_by_sorting_is_crps_by_pairs(draws, truth):
    x, n = np.array(draws), len(draws)
    pairs = np.abs(x[:, None] - x).sum() / (2 * n * (n - 1))
    with_failures = torch.tensor([NAN, *draws, NAN], dtype=torch.float64)
    assert float(ensemble.crps(with_failures, torch.tensor(truth, dtype=torch.float64))) == pytest.approx(
        np.abs(x - truth).mean() - pairs, abs=1e-9
    )


def test_crps_of_one_draw_is_the_absolute_error_and_of_none_infinite():
    draws = torch.tensor([[3.0, NAN], [NAN, NAN]])
    assert ensemble.crps(draws, torch.tensor([1.0, 1.0])).tolist() == [2.0, math.inf]


@settings(max_examples=50)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=9), st.floats(0, 1))
def test_quantiles_are_numpys_and_skip_failures(draws, level):
    some = torch.tensor([NAN, *draws], dtype=torch.float64)
    found = ensemble.quantile(some, torch.tensor([level], dtype=torch.float64))
    assert float(found[0]) == pytest.approx(np.quantile(draws, level), abs=1e-9)


def test_moments_skip_failures():
    draws = torch.tensor([[1.0, 2.0, NAN], [NAN, 4.0, NAN], [4.0, 9.0, NAN], [NAN, NAN, NAN]])
    torch.testing.assert_close(ensemble.mean(draws), torch.tensor([2.5, 5.0, NAN]), equal_nan=True)
    torch.testing.assert_close(ensemble.variance(draws), torch.tensor([4.5, 13.0, NAN]), equal_nan=True)
    assert bool(ensemble.variance(draws[:1]).isnan().all())
    assert bool(ensemble.quantile(draws, torch.tensor([0.5]))[0, 2].isnan())


@pytest.mark.parametrize("count", [19, 30, 100])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_truth_drawn_like_the_draws_is_covered_at_the_level(seed, count, level):
    draws = torch.randn(count, 20_000)
    share = ensemble.covered(draws, torch.randn(20_000), level).mean()
    assert float(share) == pytest.approx(level, abs=0.008)


def test_few_draws_cover_as_far_as_they_reach(seed):
    share = ensemble.covered(torch.randn(4, 20_000), torch.randn(20_000), 0.9).mean()
    assert float(share) == pytest.approx(3 / 5, abs=0.01)


def test_failed_draws_neither_cover_nor_bound():
    draws = torch.tensor([[1.0, 1.0], [NAN, 2.0], [3.0, NAN], [NAN, NAN]])
    assert ensemble.covered(draws, torch.tensor([2.0, 2.5]), 0.9).tolist() == [1.0, 0.0]
