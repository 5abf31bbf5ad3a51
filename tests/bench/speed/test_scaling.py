from __future__ import annotations

import math

import pytest

from greymatch.bench.speed.scaling import Curve, steepest


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_slope_is_the_power(power: float) -> None:
    sizes = [10, 20, 40, 80]
    assert math.isclose(Curve("draws", sizes, [3.0 * size**power for size in sizes]).slope, power)


def test_states_need_not_stay_in_proportion() -> None:
    curves = [Curve("draws", [1, 2], [1.0, 2.0]), Curve("states", [1, 2], [1.0, 8.0])]
    assert math.isclose(steepest(curves), 1.0)
