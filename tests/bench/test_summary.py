from __future__ import annotations

import math

import pytest

from greymatch.bench.summary import Summary, by_system_and_method, within_one_error


def test_mean_and_sample_standard_deviation() -> None:
    found = Summary.of([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3)
    assert found.std == pytest.approx(math.sqrt(7 / 3))  # over n - 1
    assert found.error == pytest.approx(math.sqrt(7) / 3)
    assert Summary.of([1.0]) == Summary(1.0, None, 1)
    assert Summary.of([1.0]).error == 0.0


def test_an_infinite_error_is_not_averaged_away() -> None:
    found = Summary.of([1.0, None])
    assert (found.mean, found.std, found.order, found.text()) == (None, None, math.inf, "–")


@pytest.mark.parametrize(("mean", "near"), [(4.9, True), (5.1, False)])
def test_one_standard_error_of_the_difference(mean: float, near: bool) -> None:
    first, one = Summary(0.0, 3 * 3.0, 9), Summary(mean, 3 * 4.0, 9)  # errors 3 and 4: 5 together
    assert within_one_error(one, first) is near


def test_without_a_spread_only_an_equal_mean_is_near() -> None:
    assert within_one_error(Summary(1.0), Summary(1.0))
    assert not within_one_error(Summary(1.01), Summary(1.0))
    assert not within_one_error(Summary(None), Summary(1.0))


def test_groups_keep_the_order_in_which_they_are_met() -> None:
    results = [{"system": s, "method": m} for s, m in (("b", "y"), ("a", "x"), ("b", "x"), ("b", "y"))]
    found = [(system, method, len(runs)) for system, method, runs in by_system_and_method(results)]
    assert found == [("b", "y", 2), ("b", "x", 1), ("a", "x", 1)]
