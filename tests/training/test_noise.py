from __future__ import annotations

import pytest
import torch

from greymatch.training.noise import RunningMean


def fed(values: list[float], decay: float, start: float = 1.0) -> float:
    mean = RunningMean.starting(torch.tensor(start), decay)
    for value in values:
        mean = mean.updated(torch.tensor(value))
    return float(mean.value)


def test_the_first_value_replaces_the_start():
    assert fed([7.0], decay=0.99, start=1000.0) == 7.0


def test_a_constant_stays_what_it_is():
    assert fed([3.0] * 50, decay=0.9) == pytest.approx(3.0)


def test_later_the_old_fades_with_the_decay():
    before = [0.0] * 1000
    assert fed([*before, 1.0], decay=0.9) == pytest.approx(0.1)
    assert fed([*before, 1.0, 0.0, 0.0], decay=0.9) == pytest.approx(0.1 * 0.81)


def test_early_values_are_forgotten_sooner_than_the_decay_alone_would():
    # 20 steps at a decay of 0.99 would keep 82 % of a wrong start; the growing memory keeps none of it
    assert fed([100.0] + [0.0] * 20, decay=0.99) < 1e-3


def test_an_update_leaves_the_old_mean_as_it_was():
    old = RunningMean.starting(torch.ones(2), 0.9)
    new = old.updated(torch.tensor([3.0, 5.0]))
    assert old.value.tolist() == [1.0, 1.0]
    assert new.value.tolist() == [3.0, 5.0]
    assert (float(old.count), float(new.count)) == (0.0, 1.0)
