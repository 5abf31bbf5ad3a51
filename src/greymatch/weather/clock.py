"""Times as numbers: hours since an epoch, hour of the day, day of the year."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EPOCH = np.datetime64("2000-01-01T00", "ns")
_HOUR = np.timedelta64(3600 * 10**9, "ns")


@dataclass(frozen=True, eq=False)
class Clock:
    """Moments, each array of the shape of the times given.

    `hours` since 2000-01-01 00 UTC, `hour` of the day in UTC [0, 24), `day` of the year from 0 on with its fraction,
    and `season`, the part of the year that is over [0, 1), in which 29 February has its place.
    """

    hours: np.ndarray
    hour: np.ndarray
    day: np.ndarray
    season: np.ndarray

    @staticmethod
    def of(times: np.ndarray) -> Clock:
        times = np.asarray(times, dtype="datetime64[ns]")
        year = times.astype("datetime64[Y]")
        begun = year.astype("datetime64[ns]")
        day = (times - begun) / _HOUR / 24
        length = ((year + 1).astype("datetime64[ns]") - begun) / _HOUR / 24
        hours = (times - EPOCH) / _HOUR
        return Clock(hours, hours % 24, day, day / length)


def to_times(hours: np.ndarray) -> np.ndarray:
    """The dates of hours since the epoch, to the second."""
    seconds = np.round(np.asarray(hours, dtype=np.float64) * 3600).astype(np.int64)
    return EPOCH + seconds.astype("timedelta64[s]")


def after(times: np.ndarray, leads: np.ndarray, step: int | str) -> np.ndarray:
    """Dates (time, lead) that lie `leads` hours, or months, after `times`."""
    if step == "month":
        months = np.asarray(times).astype("datetime64[M]")[:, None] + np.asarray(leads, dtype="timedelta64[M]")
        return months.astype("datetime64[ns]")
    return np.asarray(times, dtype="datetime64[ns]")[:, None] + np.asarray(leads) * np.timedelta64(1, "h")


def calendar_day(times: np.ndarray) -> np.ndarray:
    """Day of a leap year (0 to 365): a date has the same number every year, and 29 February has its own."""
    times = np.asarray(times, dtype="datetime64[ns]")
    date = times.astype("datetime64[D]")
    month = times.astype("datetime64[M]")
    in_month = (date - month.astype("datetime64[D]")).astype(int)
    starts = np.cumsum([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30])
    return starts[month.astype(int) % 12] + in_month
