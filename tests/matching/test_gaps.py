from __future__ import annotations

import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.gaps import neighbours, sound
from greymatch.matching.lagrange import Lagrange
from greymatch.matching.linear import Linear
from greymatch.matching.spline import Spline

INF = torch.inf


def observed(length: int, missing: list[int]) -> Tensor:
    mask = torch.ones(1, length, 1, dtype=torch.bool)
    mask[0, missing] = False
    return mask


def even(length: int, step: float = 0.1) -> Tensor:
    return step * torch.arange(length, dtype=torch.float64)[None]


def trusted(times: Tensor, mask: Tensor, max_gap: float | None = None) -> list[bool]:
    return sound(times, mask, max_gap)[0, :, 0].tolist()


def test_neighbours_are_the_observations_around_each_interval():
    before, after = neighbours(even(5, 1.0), observed(5, [0, 2]))
    assert before.flatten().tolist() == [-INF, 1.0, 1.0, 3.0]
    assert after.flatten().tolist() == [1.0, 3.0, 3.0, 4.0]


@pytest.mark.parametrize("start", range(1, 17))
def test_three_steps_are_trusted_wherever_rounding_falls(start: int):
    assert all(trusted(even(20), observed(20, [start, start + 1])))


def test_four_steps_are_not_trusted():
    times = even(20)
    longer = trusted(times, observed(20, [8, 9, 10]))
    assert [i for i, ok in enumerate(longer) if not ok] == [7, 8, 9, 10]


def test_before_the_first_and_after_the_last_observation_is_never_trusted():
    assert trusted(even(6), observed(6, [0, 1, 5]), INF) == [False, False, True, True, False]


def test_padding_is_never_trusted():
    times = torch.tensor([[0.0, 1.0, 2.0, INF, INF]], dtype=torch.float64)
    assert trusted(times, observed(5, [3, 4]), INF) == [True, True, False, False]


def test_a_slow_sensor_is_judged_by_its_own_step():
    slow = observed(41, [i for i in range(41) if i % 5])
    assert all(trusted(even(41), slow))


def test_two_lone_observations_are_judged_by_the_trajectory():
    lone = observed(41, [i for i in range(41) if i not in (5, 35)])
    assert not any(trusted(even(41), lone))
    assert sum(trusted(even(41), lone, max_gap=4.0)) == 30


def test_one_pixel_in_a_gap_spoils_the_state_but_not_the_others():
    mask = torch.ones(1, 10, 2, 3, 4, dtype=torch.bool)
    mask[0, 3:8, 1, 2, 0] = False
    result = sound(even(10), mask, None)
    assert result.shape == (1, 9, 2)
    assert result[0, :, 0].all()
    assert result[0, :, 1].tolist() == [True] * 2 + [False] * 6 + [True]


@pytest.mark.parametrize("make", [Linear, lambda max_gap: Lagrange(3, max_gap), lambda g: Spline(3, g)])
@pytest.mark.parametrize("max_gap", [0.0, -1.0, float("nan")])
def test_max_gap_must_be_positive(make, max_gap):
    with pytest.raises(GreymatchError, match="max_gap"):
        make(max_gap)
