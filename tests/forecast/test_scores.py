from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.forecast import chunks, scores
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.references import hold
from greymatch.forecast.scores import METRICS, score
from greymatch.simulation.status import Status

NAN, INF = math.nan, math.inf


def test_a_tiny_example_with_a_gap_by_hand(recording, cast):
    """Errors of the mean 1, -2 and (gap), 3; draws are the mean -+ 1."""
    truth = recording([0.0, 1.0, 2.0], [[9.0, 0.0, 4.0], [9.0, NAN, 1.0]])
    mean = torch.tensor([[1.0, 2.0], [7.0, 4.0]])
    scores = score(cast(torch.stack([mean - 1, mean + 1]), [1.0, 2.0]), truth)
    assert scores.mse == pytest.approx((1 + 4 + 9) / 3)
    assert scores.rmse == pytest.approx(math.sqrt(14 / 3))
    assert scores.mae == pytest.approx(2.0)
    assert scores.nmse == pytest.approx((14 / 3) / np.var([0.0, 4.0, 1.0]))
    # mean |x - y| is 1, 2, 3, less half of |x1 - x2| = 2
    assert scores.crps == pytest.approx((0 + 1 + 2) / 3, abs=1e-12)
    assert scores.coverage == pytest.approx(1 / 3)
    # unbiased variance 2, times (n + 1)/n
    assert scores.spread_skill == pytest.approx(math.sqrt(3 / (14 / 3)))
    table = scores.by_lead()
    assert table.index.tolist() == [1.0, 2.0]
    assert table["count"].tolist() == [1, 2]
    assert table["mse"].tolist() == pytest.approx([1.0, 6.5])


def test_states_are_pooled_in_all_and_matched_by_name(recording, cast):
    truth = recording([0.0, 1.0], [[[0.0, 0.0], [1.0, 10.0]], [[0.0, 0.0], [3.0, 50.0]]])
    forecast = cast([[[[14.0, 1.0]], [[46.0, 5.0]]]], [1.0], states=("x1", "x0"))
    table = score(forecast, truth).table()
    assert table.index.tolist() == ["x1", "x0", "all"]
    assert table["mse"].tolist() == [16.0, 2.0, 9.0]
    assert table["nmse"].tolist() == pytest.approx([16 / 400, 2 / 1, (16 / 400 + 2) / 2])
    assert table["count"].tolist() == [2, 2, 4]


def test_holding_a_constant_is_perfect(recording):
    truth = recording([0.0, 1.0, 2.0, 3.0], torch.full((3, 4), 5.0))
    scores = score(hold(truth.first(2), [2.0, 3.0]), truth)
    assert (scores.mse, scores.mae, scores.crps) == (0.0, 0.0, 0.0)
    assert math.isnan(scores.coverage)
    assert math.isnan(scores.spread_skill)


def test_a_calibrated_ensemble_is_found_calibrated(recording, cast, seed):
    center = torch.randn(400, 10).double()
    truth = recording(range(11), torch.cat([torch.zeros(400, 1), center + torch.randn(400, 10)], 1))
    scores = score(cast(center + torch.randn(50, 400, 10), range(1, 11)), truth, level=0.8)
    assert scores.coverage == pytest.approx(0.8, abs=0.02)
    assert scores.spread_skill == pytest.approx(1.0, abs=0.03)
    assert scores.crps == pytest.approx(1 / math.sqrt(math.pi), abs=0.02)
    assert scores.mse == pytest.approx(1 + 1 / 50, abs=0.05)


def test_trajectories_are_matched_by_label(recording, cast):
    truth = recording([0.0, 1.0], [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]], ["a", "b", "c"])
    forecast = cast([[[3.0], [1.0]]], [1.0], labels=["c", "a"])
    assert score(forecast, truth).mse == 0.0


def test_uneven_times_are_matched_by_time(recording, cast):
    truth = recording([[0.0, 0.5, 1.1, 2.0], [0.3, 0.7, 1.9, INF]], [[0.0, 1.0, 2.0, 3.0], [5.0, 6.0, 7.0, NAN]])
    times = [[1.1 + 1e-9, 1.5, 2.0], [0.7, 1.9, INF]]
    forecast = cast([[[2.0, 99.0, 3.0], [6.0, 7.0, NAN]]], times, start=[0.5, 0.3])
    scores = score(forecast, truth)
    assert scores.mse == 0.0
    assert scores.table()["count"].tolist() == [4, 4]
    # three bins of width 1.6 / 3 hold the leads 0.4, then 0.6, then 1.5 and 1.6
    assert scores.by_lead().index.tolist() == pytest.approx([0.4, 0.6, 1.55])
    assert scores.by_lead()["count"].tolist() == [1, 1, 2]


def test_leads_are_shared_though_starts_are_not(recording, cast):
    truth = recording([[0.0, 0.1, 0.2], [5.0, 5.1, 5.2]], torch.zeros(2, 3))
    forecast = cast([[[1.0, 2.0], [3.0, 4.0]]], [[0.1, 0.2], [5.1, 5.2]], start=[0.0, 5.0])
    table = score(forecast, truth).by_lead()
    assert table.index.tolist() == pytest.approx([0.1, 0.2])
    assert table["mse"].tolist() == [5.0, 10.0]


def test_given_points_are_never_scored(recording, cast):
    truth = recording([0.0, 1.0, 2.0], [[0.0, 0.0, 0.0]])
    forecast = cast([[[100.0, 1.0]]], [1.0, 2.0], start=1.0)
    scores = score(forecast, truth)
    assert scores.mse == 1.0
    assert scores.by_lead().index.tolist() == [1.0]


def test_times_in_single_precision_are_all_matched(cast, recording):
    clock = np.linspace(0.0, 20.0, 200)
    truth = recording(clock, torch.zeros(2, 200))
    rounded = torch.as_tensor(clock[26:].astype(np.float32)).double()
    forecast = cast(torch.zeros(1, 2, 174), rounded, start=clock[25])
    assert score(forecast, truth).table()["count"].to_dict()["all"] == 2 * 174


def test_neighbouring_times_are_not_taken_for_each_other(cast, recording):
    truth = recording([0.0, 1.0, 1.01, 1.02, 1.03], [[0.0, 1.0, 2.0, 3.0, 4.0]])
    forecast = cast([[[2.0, 50.0]]], [1.01, 1.0201])
    assert score(forecast, truth).mse == 0.0


def test_late_clocks_match_to_their_rounding(recording, cast):
    late = 1.7e9
    truth = recording([late, late + 0.1, late + 0.2], [[0.0, 1.0, 2.0]])
    forecast = cast([[[1.0, 2.0]]], [late + 0.1 + 2.4e-7, late + 0.2], start=late)
    assert score(forecast, truth).table()["count"].to_dict()["all"] == 2


def test_a_trajectory_without_a_draw_left_is_an_infinite_error(recording, cast):
    truth = recording([0.0, 1.0, 2.0], [[0.0, 0.0, 2.0]] * 3, ["a", "b", "c"])
    draws = torch.ones(2, 3, 2)
    draws[:, 1, 1] = NAN
    draws[0, 2, 1] = NAN
    status = torch.tensor([[0, 3, 3], [0, 3, 0]])
    scores = score(cast(draws, [1.0, 2.0], labels=["a", "b", "c"], status=status), truth)
    assert (scores.mse, scores.mae, scores.crps, scores.nmse) == (INF,) * 4
    assert scores.by_lead()["mse"].tolist() == [1.0, INF]
    assert (scores.lost, scores.failed) == (("b",), 3)
    assert "3 of 6 members failed" in repr(scores)
    assert "infinite, in 1 trajectories: b" in repr(scores)


def test_where_some_draws_failed_the_rest_count(recording, cast):
    truth = recording([0.0, 1.0], [[0.0, 1.0]])
    status = torch.tensor([[Status.SOLVED], [Status.NOT_FINITE], [Status.SOLVED]])
    scores = score(cast([[[2.0]], [[NAN]], [[4.0]]], [1.0], status=status), truth)
    assert scores.mse == 4.0
    assert scores.crps == pytest.approx(2.0 - 1.0)
    assert scores.lost == ()


def test_fields_are_averaged_over_pixels(recording, cast):
    truth = torch.zeros(1, 2, 1, 2, 2)
    truth[0, 1, 0, 0, 0] = NAN
    forecast = cast(torch.tensor([[100.0, 1.0], [2.0, 3.0]]).reshape(1, 1, 1, 1, 2, 2), [1.0], grid=("y", "x"))
    scores = score(forecast, recording([0.0, 1.0], truth, grid=("y", "x")))
    assert scores.mse == pytest.approx(14 / 3)
    assert scores.table()["count"].to_dict()["all"] == 3


def test_scoring_in_pieces_is_the_same(recording, cast, seed, monkeypatch):
    truth = recording(range(5), torch.randn(7, 5).double())
    forecast = cast(torch.randn(6, 7, 4).double(), range(1, 5))
    whole = score(forecast, truth).table()
    monkeypatch.setattr(chunks, "_NUMBERS", 50)
    monkeypatch.setattr(scores, "_NUMBERS", 50)
    np.testing.assert_allclose(score(forecast, truth).table(), whole, rtol=1e-12)


def test_every_score_has_its_place(swings):
    scores = score(hold(swings.first(26), swings.times[0, 26:]), swings)
    assert scores.table().columns.tolist() == [*METRICS, "count"]
    assert set(scores.dataset.data_vars) == {*METRICS, "count"}
    assert scores.dataset["mse"].dims == ("state", "lead")
    assert scores.dataset["lead"].size == 174
    assert np.mean(scores.by_lead("angle")["mse"].to_numpy()) == pytest.approx(scores.mse)
    assert "5 trajectories, 1 draw, lead 0.1 to 17.4" in repr(scores)
    with pytest.raises(GreymatchError, match="Did you mean 'angle'"):
        scores.by_lead("angel")


def refused(forecast: Forecast, truth: object, message: str) -> None:
    with pytest.raises(GreymatchError, match=message):
        score(forecast, truth)  # pyright: ignore[reportArgumentType]


def test_what_cannot_be_judged_is_refused(recording, cast):
    truth = recording([0.0, 1.0], [[0.0, 1.0]], ["a"])
    refused(cast([[[1.0]]], [1.0], labels=["b"]), truth, "'b' is not among its 1 labels, such as 'a'")
    refused(cast([[[1.0]]], [1.0], labels=["a"], states=("y",)), truth, r"states forecast, \['y'\]")
    refused(cast([[[1.0]]], [1.5], labels=["a"]), truth, "Give the whole recording, not its history")
    refused(cast([[[1.0]]], [1.0], start=1.0, labels=["a"]), truth, "Give the whole recording")
    refused(cast(torch.ones(1, 1, 1, 1, 3), [1.0], labels=["a"], grid=("x",)), truth, "must be on the grid")
    with pytest.raises(GreymatchError, match="`level`"):
        score(cast([[[1.0]]], [1.0], labels=["a"]), truth, level=90)
