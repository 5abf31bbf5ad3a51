from __future__ import annotations

import math

import pytest

from greymatch.report.numbers import counted, duration, listed, number, percent, probability, ratio


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0355123, "0.0355"),
        (3.141e-6, "3.14e-6"),
        (2.5e12, "2.5e12"),
        (1e-10, "1e-10"),
        (1000.0, "1000"),
        (21212.0, "21200"),
        (0.0, "0"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers_have_three_digits_and_short_exponents(value: float, text: str) -> None:
    assert number(value) == text


def test_ratio_of_like_extremes_is_one() -> None:
    assert ratio(0.0, 0.0) == ratio(math.inf, math.inf) == 1
    assert ratio(1.0, 0.0) == math.inf
    assert ratio(3.0, 2.0) == 1.5


def test_durations_are_read_at_a_glance() -> None:
    assert [duration(s) for s in (6.184, 59.7, 185, 7800)] == ["6.18 s", "59.7 s", "3 min 5 s", "2 h 10 min"]


def test_words() -> None:
    assert counted(1, "trajectory") == "1 trajectory"
    assert counted(2, "trajectory") == "2 trajectories"
    assert listed(list("abcdefg"), 3) == "a, b, c and 4 more"
    assert percent(0.584) == "58 %"
    assert percent(math.nan) == "–"


@pytest.mark.parametrize(("value", "text"), [(0.0516, "0.052"), (1e-9, "< 0.001"), (1.0, "1"), (math.nan, "–")])
def test_probabilities_are_no_smaller_than_they_need_to_be(value: float, text: str) -> None:
    assert probability(value) == text
