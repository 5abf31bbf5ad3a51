from __future__ import annotations

import numpy as np
import pytest

from greymatch.cli.times import parse_times, times_to
from greymatch.errors import GreymatchError


def test_both_ends_are_included_whatever_the_rounding() -> None:
    times = parse_times("2.6:20:0.1")
    assert len(times) == 175
    assert times[[0, -1]] == pytest.approx([2.6, 20.0])
    assert parse_times("0:1:0.3") == pytest.approx([0.0, 0.3, 0.6, 0.9])
    assert parse_times("1:1:5") == pytest.approx([1.0])


@pytest.mark.parametrize("text", ["1:2", "1:2:0.1:3", "a:b:c", "", "2:1:0.1", "1:2:0", "1:2:-1", "1:inf:1", "nan:2:1"])
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(GreymatchError, match="must be START:STOP:STEP"):
        parse_times(text)


def test_too_many_times_are_refused_before_they_are_made() -> None:
    with pytest.raises(GreymatchError, match="1000000 are the most"):
        parse_times("0:1:1e-12")


def test_each_history_goes_on_by_its_own_step_from_its_own_end(recording) -> None:
    nan = float("nan")
    history = recording([0.0, 0.5, 1.0, 1.5], [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, nan, nan]])
    times = times_to(history, 3.0)
    assert times[0] == pytest.approx([2.0, 2.5, 3.0, np.inf, np.inf])
    assert times[1] == pytest.approx([1.0, 1.5, 2.0, 2.5, 3.0])


def test_end_must_lie_after_every_history(recording) -> None:
    history = recording([0.0, 0.5, 1.0], [[1.0, 2.0, 3.0]])
    assert times_to(history, 1.5)[0] == pytest.approx([1.5])
    with pytest.raises(GreymatchError, match="must lie a step"):
        times_to(history, 1.4)


def test_the_end_may_be_a_date(recording) -> None:
    epoch = np.array(["2024-05-01T08:00:00", "2024-05-01T08:00:01"], dtype="M8[ns]")
    history = recording([0.0, 0.5, 1.0], [[1.0, 2.0, 3.0]] * 2, epoch=epoch, units={"time": "s"})
    times = times_to(history, "2024-05-01 08:00:03")
    assert times[0] == pytest.approx([1.5, 2.0, 2.5, 3.0])
    assert times[1] == pytest.approx([1.5, 2.0, np.inf, np.inf])
    with pytest.raises(GreymatchError, match="got 2024-05-01 08:00:01, and"):
        times_to(history, "2024-05-01 08:00:01")


def test_a_history_of_one_point_has_no_step(recording) -> None:
    with pytest.raises(GreymatchError, match="give --times"):
        times_to(recording([0.0], [[1.0]]), 3.0)
