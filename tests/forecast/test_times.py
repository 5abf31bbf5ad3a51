from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.forecast.times import as_times, last_observed

NAN, INF = math.nan, math.inf


@pytest.fixture
def history(recording):
    return recording([[0.0, 0.1, 0.2], [0.0, 0.3, INF]], [[1.0, 2.0, NAN], [3.0, 4.0, NAN]], ["a", "b"])


def test_a_forecast_starts_at_the_last_observation_not_at_the_last_time(history):
    assert last_observed(history).tolist() == [0.1, 0.3]


@pytest.mark.parametrize("times", [[0.4, 0.5], (0.4, 0.5), np.array([0.4, 0.5]), torch.tensor([0.4, 0.5])])
def test_one_list_of_times_serves_all(history, times):
    asked = as_times(times, history)
    assert asked.dtype == torch.float64
    assert asked.tolist() == [[0.4, 0.5]] * 2


def test_each_trajectory_may_have_its_own_times(history):
    own = [[0.15, 0.2], [0.35, INF]]
    assert as_times(own, history).tolist() == own


@pytest.mark.parametrize("start", [0.3, 0.3 - 1e-9])
def test_the_time_of_the_last_observation_may_be_asked(history, start):
    assert as_times([start, 0.4], history).tolist() == [[start, 0.4], [0.3, 0.4]]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.2, 0.4], "'b' was last observed at 0.3 and is asked at 0.2"),
        ([0.5, 0.4], "must increase"),
        ([0.5, 0.5], "must increase"),
        ([0.5, NAN], "must be numbers"),
        ([[0.5, INF], [INF, INF]], "'b' has none"),
        ([[0.5, 0.6]], "one row for each of the 2 labels"),
        ([], "not empty"),
        (0.5, "must be"),
        ([[0.5, 0.6], [0.5]], "Pad shorter rows with inf"),
        (["soon"], "must be numbers"),
    ],
)
def test_other_times_are_refused(history, times, message):
    with pytest.raises(GreymatchError, match=message):
        as_times(times, history)


def test_a_history_without_observations_is_refused(recording):
    with pytest.raises(GreymatchError, match="'b' has none"):
        last_observed(recording([0.0, 1.0], [[1.0, 2.0], [NAN, NAN]], ["a", "b"]))
