from __future__ import annotations

import pytest

from greymatch.forecast.digits import interval_digits


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [
        (1.1, 5.6, 4),
        (2.274123, 2.274125, 8),
        (-2.274125, -2.274123, 8),
        (1e9, 1e9 + 20, 10),
        (1.0, 1.0 + 2e-16, 15),
        (9.81, 9.81, 4),
        (float("nan"), 1.0, 4),
        (0.0, float("inf"), 4),
    ],
)
def test_two_digits_of_the_width_are_told_within_double_precision(low: float, high: float, digits: int):
    assert interval_digits(low, high) == digits
