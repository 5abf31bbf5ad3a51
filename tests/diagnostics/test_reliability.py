from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from greymatch.diagnostics.points import Points
from greymatch.diagnostics.reliability import LEVELS, Reliability
from greymatch.errors import GreymatchError


def judged(made) -> Reliability:
    return Reliability.of(Points.of(*made))


def test_an_honest_posterior_covers_every_level_and_has_uniform_ranks(toy):
    found = judged(toy(4000, 199))
    np.testing.assert_allclose(found.coverage, LEVELS, atol=0.025)
    low, high = found.band()
    assert ((found.histogram() >= low) & (found.histogram() <= high)).all()
    assert found.uniformity > 0.01
    assert found.above == pytest.approx(0.5, abs=0.025)
    assert found.spread_skill.ratio == pytest.approx(1.0, abs=0.03)
    # CRPS of N(m, s) for y ~ N(m, s) is s / sqrt(pi)
    assert found.crps == pytest.approx(math.sqrt(0.5 / math.pi), abs=0.01)


def test_over_confident_by_two_shows_everywhere(toy):
    found = judged(toy(400, 199, width=0.5))
    assert (found.coverage < np.array(LEVELS)).all()
    assert found.histogram()[[0, -1]].min() > found.band()[1]  # ranks pile up at both ends
    assert found.uniformity < 1e-3
    assert found.spread_skill.ratio == pytest.approx(0.5, abs=0.05)


def test_over_cautious_by_two_piles_up_in_the_middle(toy):
    found = judged(toy(400, 199, width=2.0))
    assert (found.coverage[:-1] > np.array(LEVELS[:-1])).all()
    assert found.histogram(10)[4:6].min() > found.band(10)[1]
    assert found.uniformity < 1e-3


def test_a_pull_to_one_side_is_seen(toy):
    # draws one standard deviation too high
    below = float(torch.distributions.Normal(0.0, 1.0).cdf(torch.tensor(-1.0)))
    assert judged(toy(4000, 199, shift=1.0)).above == pytest.approx(below, abs=0.02)


def test_few_draws_reach_no_wide_interval(toy):
    found = judged(toy(4000, 5))
    assert found.at(0.65) == pytest.approx(0.65, abs=0.025)
    assert math.isnan(found.at(0.7))


def test_the_histogram_is_whole_and_even_for_five_draws(toy):
    shares = judged(toy(4000, 5)).histogram()
    assert shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(shares, 1 / 20, atol=0.01)


def test_chance_is_that_of_the_trajectories_not_of_their_points(toy):
    draws, truth = toy(100, 19)
    once = judged((draws, truth))
    often = judged((draws[..., None].expand(-1, -1, 50), truth[:, None].expand(-1, 50)))
    assert often.values == 5000
    assert often.uniformity == pytest.approx(once.uniformity)
    assert often.scatter(0.9) == pytest.approx(once.scatter(0.9)) == pytest.approx(0.03)


def test_a_single_draw_says_nothing_of_spread(toy):
    told = judged(toy(50, 1)).to_dict()
    assert math.isnan(told["spread_skill"])
    assert math.isnan(told["uniformity"])
    assert np.isnan(told["coverage"]).all()


def test_other_levels_are_refused(toy):
    with pytest.raises(GreymatchError, match="`level` must be one of"):
        judged(toy(5, 5)).at(0.123)
