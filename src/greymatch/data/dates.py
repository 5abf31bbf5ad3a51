"""Dates as numbers since each trajectory's start, in a stated unit, and back."""

from __future__ import annotations

import numpy as np

from greymatch.errors import GreymatchError, did_you_mean

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_WORDS = {"second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h", "day": "d", "µs": "us"}


def nanoseconds(unit: str | None) -> int:
    """How long the unit is; dates cannot be counted in others."""
    known = ", ".join(_NANOSECONDS)
    if unit is None:
        raise GreymatchError(
            f"times that are dates or durations need a unit to count them in, one of {known}; got none. "
            'State the one of your physics, as in units={"time": "s"} or --units time=s: seconds since the start of '
            "each trajectory."
        )
    word = str(unit).strip()
    name = word if word in _NANOSECONDS else _WORDS.get(word.lower().removesuffix("s"), word.lower())
    if name not in _NANOSECONDS:
        hint = did_you_mean(word, [*_NANOSECONDS, *_WORDS])
        raise GreymatchError(f'`units` must count dates in one of {known}; got "time": {unit!r}.{hint}')
    return _NANOSECONDS[name]


def counted(moments: np.ndarray, unit: str | None, epoch: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Dates (N, T) as numbers since `epoch` (N,), by default the first of each trajectory, and that epoch.

    Durations are numbers already, and have none.
    """
    size = nanoseconds(unit)
    if moments.dtype.kind == "M":
        exact = moments.astype("M8[ns]")
        epoch = exact[:, 0] if epoch is None else epoch
        moments = exact - epoch[:, None]
    whole = moments.astype("m8[ns]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / size), epoch


def dated(epoch: np.ndarray, times: np.ndarray, unit: str | None) -> np.ndarray:
    """The dates of `times` (N, ...), NaT where a time is not finite."""
    finite = np.isfinite(times)
    since = np.rint(np.where(finite, times, 0.0) * nanoseconds(unit)).astype("m8[ns]")
    dates = epoch.reshape(-1, *(1,) * (times.ndim - 1)) + since
    return np.where(finite, dates, np.datetime64("NaT", "ns"))


def epoch_of(dates: np.ndarray, times: np.ndarray, unit: str | None) -> np.ndarray:
    """The epoch (N,) from the date and the time of each trajectory's first point, both (N,)."""
    return dated(dates.astype("M8[ns]"), -times, unit)
