from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from greymatch.bench.speed.timing import Curve, Measured, in_turns, one_thread


def measured(ours: list[float], plain: list[float], **more: Any) -> Measured:
    return Measured("training", "spring", "windows / s", 100, ours, plain, **more)


def test_ratios_are_those_of_the_same_turn() -> None:
    assert measured([1.0, 2.0], [3.0, 10.0]).ratios == [3.0, 5.0]


@pytest.mark.parametrize(("goal", "reached"), [(3.9, True), (4.1, False), (None, None)])
def test_a_goal_is_reached_by_the_median(goal: float | None, reached: bool | None) -> None:
    assert measured([1.0, 1.0, 1.0], [1.0, 4.0, 9.0], goal=goal).reached is reached


def test_what_should_be_short_is_judged_by_its_seconds() -> None:
    assert measured([1.0], [], most=2.0).reached
    assert not measured([3.0], [], most=2.0).reached


def test_ways_take_turns_and_the_first_turn_does_not_count() -> None:
    called: list[str] = []
    found = in_turns({name: lambda name=name: called.append(name) for name in "ab"}, turns=2)
    assert called == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 2, "b": 2}


def test_seconds_are_those_of_the_processor() -> None:
    busy, idle = (
        in_turns({"way": way}, 1)["way"][0]
        for way in (lambda: sum(n * n for n in range(10**6)), lambda: torch.cuda.is_available())
    )
    assert busy > 10 * idle


def test_threads_are_put_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_slope_is_the_power(power: float) -> None:
    sizes = [10, 20, 40, 80]
    assert math.isclose(Curve("draws", sizes, [3.0 * size**power for size in sizes]).slope, power)


@pytest.mark.parametrize(("highest", "within"), [(1.0, False), (2.1, True), (None, None)])
def test_cost_may_be_asked_to_stay_in_proportion(highest: float | None, within: bool | None) -> None:
    assert Curve("states", [1, 2], [1.0, 4.0], highest).within is within
