from __future__ import annotations

import math

import pytest
import torch

from greymatch.diagnostics import energy
from greymatch.diagnostics.energy import energy_score
from greymatch.forecast import ensemble

NAN = math.nan


def test_of_one_coordinate_it_is_the_crps(toy):
    draws, truth = toy(30, 25)
    torch.testing.assert_close(energy_score(draws[..., None], truth[:, None]), ensemble.crps(draws, truth))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_of_a_gaussian_at_its_centre_it_is_the_closed_form(seed, size):
    """E|x| = sqrt(2) g and E|x - x'| = 2 g with g = Gamma((K + 1) / 2) / Gamma(K / 2); over sqrt(K) for the mean."""
    ratio = math.exp(math.lgamma((size + 1) / 2) - math.lgamma(size / 2))
    draws = torch.randn(100, 400, size, dtype=torch.float64)
    found = energy_score(draws, torch.zeros(400, size, dtype=torch.float64)).mean()
    assert float(found) == pytest.approx((math.sqrt(2) - 1) * ratio / math.sqrt(size), abs=0.01)


def test_the_true_law_scores_best(seed):
    truth = torch.randn(4000, 2).double()
    honest = torch.randn(20, 4000, 2).double()
    scores = [float(energy_score(draws, truth).mean()) for draws in (honest, 0.4 * honest, 2.5 * honest, honest + 1)]
    assert min(scores) == scores[0]


def test_correlation_is_seen_though_each_coordinate_is_right(seed):
    shared = torch.randn(21, 3000, 1).double()
    together, apart = shared.expand(-1, -1, 2), torch.randn(21, 3000, 2).double()
    truth = together[0]
    assert float(energy_score(together[1:], truth).mean()) < float(energy_score(apart[1:], truth).mean()) - 0.01


def test_gaps_and_failed_draws_are_left_out(seed):
    draws, truth = torch.randn(6, 3, 2).double(), torch.randn(3, 2).double()
    whole = energy_score(draws[:4], truth)
    draws[4, :, 0] = NAN
    draws[5, :, 1] = NAN
    torch.testing.assert_close(energy_score(draws, truth), whole)
    seen = torch.tensor([[True, False], [True, True], [False, False]])
    truth[0, 1] = NAN
    found = energy_score(draws[:4], truth, seen)
    assert float(found[0]) == pytest.approx(float(ensemble.crps(draws[:4, 0, 0], truth[0, 0])))
    assert math.isnan(float(found[2]))


def test_one_draw_gives_the_distance_and_none_infinity():
    draws = torch.tensor([[[3.0, 4.0], [NAN, 1.0]]])
    assert energy_score(draws, torch.zeros(2, 2)).tolist() == pytest.approx([5 / math.sqrt(2), math.inf])


def test_pieces_and_the_order_of_draws_do_not_matter(seed, monkeypatch):
    draws, truth = torch.randn(7, 11, 3).double(), torch.randn(11, 3).double()
    whole = energy_score(draws, truth)
    monkeypatch.setattr(energy, "_NUMBERS", 100)
    torch.testing.assert_close(energy_score(draws[torch.randperm(7)], truth), whole)
