from __future__ import annotations

import math

import pytest
import torch

from greymatch.diagnostics.points import Points
from greymatch.forecast import chunks

NAN = math.nan


def test_only_what_is_scored_is_judged_whatever_stands_elsewhere(toy):
    draws, truth = toy(6, 8)
    scored = torch.tensor([True, False, True, True, False, True])
    spoiled = truth.masked_fill(~scored, NAN)
    found, wanted = Points.of(draws, spoiled, scored), Points.of(draws[:, scored], truth[scored])
    assert found.row.tolist() == [0, 2, 3, 5]
    for name in ("below", "crps", "square", "expected"):
        torch.testing.assert_close(getattr(found, name), getattr(wanted, name))


def test_pieces_are_the_same_as_the_whole(toy, monkeypatch):
    draws, truth = (part.unflatten(-1, (5, 4)) for part in toy(20, 8))
    whole = Points.of(draws, truth)
    monkeypatch.setattr(chunks, "_NUMBERS", 40)
    torch.testing.assert_close(Points.of(draws, truth).crps, whole.crps)
    assert Points.of(draws, truth).row.tolist() == whole.row.tolist() == sorted([0, 1, 2, 3, 4] * 4)


def test_values_of_one_trajectory_count_as_one(toy):
    draws, truth = (part.unflatten(-1, (5, 4)) for part in toy(20, 3))
    assert Points.of(draws, truth).independent == pytest.approx(5.0)
    scored = torch.ones(5, 4, dtype=torch.bool)
    scored[1:] = torch.tensor([True, False, False, False])  # one of four values, four of one
    assert Points.of(draws, truth, scored).independent == pytest.approx(8**2 / (16 + 4))


def test_other_units_change_errors_and_leave_ranks(toy):
    points = Points.of(*toy(20, 8))
    half = points.over(2.0)
    torch.testing.assert_close(half.crps, points.crps / 2)
    torch.testing.assert_close(half.square / half.expected, points.square / points.expected)
    assert torch.equal(half.below, points.below)


def test_a_value_without_a_draw_is_lost_not_left_out():
    points = Points.of(torch.tensor([[1.0, NAN], [3.0, NAN]]), torch.tensor([2.0, 2.0]))
    assert points.square.tolist() == [0.0, math.inf]
    assert points.ranks.covered(0.9).tolist() == [1.0, 0.0]
