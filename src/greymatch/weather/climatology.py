"""What is usual at a date and hour, from the training years."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.clock import calendar_day

_TOGETHER = 64  # states read at once
_DAYS = 366
_SEEN = 1e-6  # a count, after the rounding of the transform


@dataclass(frozen=True, eq=False)
class Climatology:
    """Means (day of a leap year, hour of the day, field, lat, lon) over years, smoothed over days.

    ```python
    usual = Climatology.of(archive.split()["train"])
    anomaly = archive.maps(times) - usual.at(times)
    ```

    Each day is a weighted mean over the `window` days around it, the weights falling in a straight line to both sides,
    much as in WeatherBench 2; 29 February counts as often as it came. For monthly means it has the
    calendar month in place of the day, and is not smoothed.

    Not for trends: all training years count alike.
    """

    names: tuple[str, ...]
    values: np.ndarray
    step: int | str

    @staticmethod
    def of(train: Archive, window: int = 61) -> Climatology:
        if window < 1 or window % 2 == 0:
            raise GreymatchError(f"`window` must be an odd number of days; got {window}.")
        days, hours = _places(train.times, train.step)
        shape = (12, 1) if train.step == "month" else (_DAYS, 24 // int(train.step))
        grid = (len(train.names), train.fields.sizes["lat"], train.fields.sizes["lon"])
        total, count = np.zeros((*shape, *grid)), np.zeros(shape)
        for first in range(0, len(train), _TOGETHER):
            rows = slice(first, first + _TOGETHER)
            np.add.at(total, (days[rows], hours[rows]), train.maps(train.times[rows]))
            np.add.at(count, (days[rows], hours[rows]), 1)
        window = 1 if train.step == "month" else window
        total, count = _smoothed(total, window), _smoothed(count, window)
        unknown = int((count < _SEEN).sum())
        if unknown:
            raise GreymatchError(
                f"{train.where} must cover the whole year to know what is usual; {unknown} dates and hours are without "
                "a state. Take at least one whole year, or a wider `window`."
            )
        return Climatology(train.names, (total / count[..., None, None, None]).astype(np.float32), train.step)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Fields (..., field, lat, lon) at dates of any shape."""
        days, hours = _places(np.asarray(times), self.step)
        return self.values[days, hours]

    @property
    def mean(self) -> np.ndarray:
        """Over the year (field, lat, lon)."""
        return self.values.mean(axis=(0, 1), dtype=np.float64)


def _places(times: np.ndarray, step: int | str) -> tuple[np.ndarray, np.ndarray]:
    if step == "month":
        month = times.astype("datetime64[M]").astype(int) % 12
        return month, np.zeros_like(month)
    hour = (times - times.astype("datetime64[D]")) // np.timedelta64(int(step), "h")
    return calendar_day(times), hour.astype(int)


def _smoothed(values: np.ndarray, window: int) -> np.ndarray:
    """Weighted sums over days (axis 0), around the turn of the year, by the Fourier transform."""
    half = window // 2
    if half == 0:
        return values
    weights = np.zeros(len(values))
    offsets = np.arange(-half, half + 1)
    np.add.at(weights, offsets % len(values), 1 - np.abs(offsets) / (half + 1))
    kernel = np.fft.rfft(weights).reshape(-1, *[1] * (values.ndim - 1))
    return np.fft.irfft(np.fft.rfft(values, axis=0) * kernel, n=len(values), axis=0)
