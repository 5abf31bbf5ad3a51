from __future__ import annotations

import numpy as np
import pytest

from greymatch.weather.clock import Clock, calendar_day, to_times


def at(*dates: str) -> np.ndarray:
    return np.array(dates, dtype="datetime64[ns]")


def test_known_moments() -> None:
    clock = Clock.of(at("2000-01-01T00", "2000-01-02T06", "2017-12-31T18", "2016-12-31T18"))
    assert clock.hours[:2].tolist() == [0, 30]
    assert clock.hour.tolist() == [0, 6, 18, 18]
    assert clock.day.tolist() == [0, 1.25, 364.75, 365.75]
    assert clock.season[[2, 3]].tolist() == pytest.approx([364.75 / 365, 365.75 / 366])
    assert clock.season.max() < 1


def test_before_the_epoch_too() -> None:
    clock = Clock.of(at("1979-01-01T06"))
    assert (clock.hour[0], clock.day[0]) == (6, 0.25)
    assert clock.hours[0] == -(21 * 365 + 5) * 24 + 6


def test_hours_become_dates_again() -> None:
    times = np.arange("1979-01-01T00", "2019-01-01T00", 7001, dtype="datetime64[h]").astype("datetime64[ns]")
    np.testing.assert_array_equal(to_times(Clock.of(times).hours), times)


def test_a_date_has_one_number_every_year() -> None:
    days = calendar_day(at("2015-03-01", "2016-03-01T12", "2016-02-29", "2016-12-31", "2017-12-31T18", "1975-01-01"))
    assert days.tolist() == [60, 60, 59, 365, 365, 0]
