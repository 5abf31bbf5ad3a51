from __future__ import annotations

import itertools

import pytest

from greymatch.training.schedule import schedule


@pytest.mark.parametrize("warmup", [0.0, 0.02, 0.3])
def test_the_schedule_rises_then_falls_to_zero_at_the_very_end(warmup: float):
    rates = [schedule(i / 1000, warmup) for i in range(1001)]
    peak = rates.index(max(rates))
    assert peak == round(1000 * warmup)
    assert rates[peak] == 1.0
    assert rates[0] == (1e-3 if warmup else 1.0)
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert all(a > b for a, b in itertools.pairwise(rates[peak:]))
    assert rates[-1] == 0.0
    middle = (1 + warmup) / 2
    assert schedule(middle, warmup) == pytest.approx(0.5)
    # linear on the way up, level at both ends of the way down
    assert schedule(warmup / 2, warmup) == pytest.approx(0.5 if warmup else 1.0)
    assert 1 - schedule(warmup + 0.001, warmup) < 1e-4
