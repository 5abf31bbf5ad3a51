from __future__ import annotations

import math

import pytest
import torch

from greymatch.diagnostics.ranks import Ranks
from greymatch.models.latents import mirrored

NAN = math.nan


def test_ranks_by_hand_with_ties_and_failures():
    draws = torch.tensor([[1.0, 1.0, NAN], [2.0, 2.0, NAN], [2.0, NAN, NAN], [5.0, 9.0, NAN]])
    ranks = Ranks.of(draws, torch.tensor([2.0, 0.0, 0.0]))
    assert (ranks.below.tolist(), ranks.equal.tolist(), ranks.count.tolist()) == ([1, 0, 0], [2, 0, 0], [4, 3, 0])


@pytest.mark.parametrize("draws", [1, 4, 19])
def test_every_rank_of_an_honest_posterior_is_as_likely(toy, draws):
    ranks = Ranks.of(*toy(40_000, draws))
    shares = torch.bincount(ranks.below, minlength=draws + 1) / 40_000
    torch.testing.assert_close(shares, torch.full_like(shares, 1 / (draws + 1)), rtol=0, atol=0.012)


@pytest.mark.parametrize("draws", [5, 101])
def test_mirrored_draws_with_one_at_the_centre_leave_every_rank_as_likely(seed, draws):
    """As `infer` and `forecast` draw them: pairs n and -n, and with an odd count the centre itself."""
    truth = torch.randn(40_000)
    ranks = Ranks.of(mirrored(draws, truth, None), truth)
    shares = torch.bincount(ranks.below, minlength=draws + 1) / 40_000
    torch.testing.assert_close(shares, torch.full_like(shares, 1 / (draws + 1)), rtol=0, atol=0.012)
    assert float(ranks.covered(0.5).mean()) == pytest.approx(0.5, abs=0.01)


def test_the_pit_is_spread_over_what_its_rank_leaves_open():
    ranks = Ranks.of(torch.tensor([[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]]), torch.tensor([1.5, 2.0]))
    edges = torch.tensor([0.25, 0.375, 0.5, 1.0])
    assert ranks.below_share(edges)[:, 0].tolist() == [0.0, 0.5, 1.0, 1.0]
    assert ranks.below_share(edges)[:, 1].tolist() == edges.tolist()  # equal to every draw: it may stand anywhere


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8, 0.95])
def test_an_interval_half_as_wide_covers_as_much_as_the_normal_law_says(toy, level):
    normal = torch.distributions.Normal(0.0, 1.0)
    reach = normal.icdf(torch.tensor((1 + level) / 2)) / 2
    inside = float(2 * normal.cdf(reach) - 1)
    draws, truth = toy(20_000, 399, width=0.5)
    assert float(Ranks.of(draws, truth).covered(level).mean()) == pytest.approx(inside, abs=0.01)


def test_the_order_of_draws_does_not_matter(toy):
    draws, truth = toy(50, 20)
    one, other = Ranks.of(draws, truth), Ranks.of(draws[torch.randperm(20)], truth)
    assert torch.equal(one.below, other.below)
    assert torch.equal(one.covered(0.7), other.covered(0.7))
