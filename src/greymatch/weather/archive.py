"""`Archive`: years of weather maps, read when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.axes import dates
from greymatch.weather.chunk import Chunk
from greymatch.weather.splits import Splits


@dataclass(frozen=True, eq=False, repr=False)
class Archive:
    """Fields over (time, lat, lon), lazily, and what does not change.

    ```python
    archive = read("weatherbench")
    parts = archive.split()                                # train, val and test by year
    scaling = Scaling.of(parts["train"])
    for chunk in parts["train"].chunks(8):                 # (1, 8, field, lat, lon) at a time
        ...
    batch = parts["train"].at(starts=[0, 40, 7], length=8)
    ```

    `fields` has one variable for each field; `still` holds orography (m) and land (0 to 1) where the files have them.
    `step` is the time between states in hours, or "month". Years of coarse maps fit into memory: `load()` reads them
    once, and `at` is then quick.
    """

    fields: xr.Dataset
    still: xr.Dataset
    step: int | str = 6
    where: str = "the archive"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.fields.data_vars)

    @property
    def times(self) -> np.ndarray:
        return self.fields["time"].values

    @property
    def simulated(self) -> bool:
        """Whether the maps come from a simulation, not from observations."""
        return bool(self.fields.attrs.get("simulated"))

    @property
    def constants(self) -> xr.Dataset:
        """`orography` and `land` over (lat, lon)."""
        missing = {"orography", "land"} - set(self.still.data_vars)
        if missing:
            raise GreymatchError(
                f"{self.where} has no {' and no '.join(sorted(missing))}. WeatherBench 1 keeps them in "
                "constants/constants_5.625deg.nc, WeatherBench 2 beside the fields."
            )
        return self.still

    def __len__(self) -> int:
        return self.fields.sizes["time"]

    def years(self, first: int, last: int) -> Archive:
        """The part from `first` to `last`, both inside."""
        year = dates(self.fields).year
        kept = np.flatnonzero((year >= first) & (year <= last))
        if not len(kept):
            raise GreymatchError(
                f"{self.where} has no state from {first} to {last}; it has {year.min()} to {year.max()}. "
                "Fetch or simulate those years, or choose other splits."
            )
        return self._with(self.fields.isel(time=slice(kept[0], kept[-1] + 1)))

    def split(self, splits: Splits | None = None) -> dict[str, Archive]:
        """`train`, `val` and `test`; of each, the years that are there."""
        return {name: self.years(*span) for name, span in (splits or Splits()).items()}

    def monthly(self) -> Archive:
        """Means over whole calendar months, dated by their first moment; months with a state missing are left out."""
        if self.step == "month":
            return self
        grouped = self.fields.resample(time="MS")
        present = self.fields["time"].resample(time="MS").count()
        expected = present["time"].dt.days_in_month * (24 // int(self.step))
        whole = np.flatnonzero((present == expected).values)
        if not len(whole):
            raise GreymatchError(f"{self.where} has no whole month from {self.times[0]} to {self.times[-1]}.")
        means = grouped.mean(keep_attrs=True).astype(np.float32)
        return replace(self._with(means.isel(time=whole)), step="month")

    def load(self) -> Archive:
        """With all maps in memory."""
        return self._with(self.fields.load())

    def starts(self, length: int, every: int = 1) -> np.ndarray:
        """Places from which `length` states follow each other without a gap, the first and each `every`-th one on."""
        if length < 1 or every < 1:
            raise GreymatchError(f"`length` and `every` must be at least 1; got {length} and {every}.")
        whole = np.concatenate([[0], np.cumsum(~self.follows())])
        first = np.arange(len(self) - length + 1)
        found = first[whole[first + length - 1] == whole[first]] if len(first) else first
        if not len(found):
            raise GreymatchError(f"{self.where} has no {length} states in a row; it has {len(self)} states in all.")
        return found[::every]

    def at(self, starts: Sequence[int] | np.ndarray, length: int) -> Chunk:
        """`length` states from each of `starts` on."""
        places = np.asarray(starts, dtype=int)[:, None] + np.arange(length)
        needed, back = np.unique(places, return_inverse=True)
        if not len(needed) or needed[0] < 0 or needed[-1] >= len(self):
            raise GreymatchError(f"`starts` must lie between 0 and {len(self) - length}; got {list(starts)[:5]} ...")
        first, last = int(needed[0]), int(needed[-1])
        along = slice(first, last + 1) if last - first + 1 == len(needed) else needed  # read as it lies
        part = self.fields.isel(time=along).to_array("field").transpose("time", "field", "lat", "lon")
        values = np.asarray(part.values, dtype=np.float32)
        self._check_whole(values, needed)
        chosen = torch.from_numpy(values[back.reshape(places.shape)])
        lat, lon = (np.asarray(self.fields[axis].values, dtype=np.float64) for axis in ("lat", "lon"))
        return Chunk(self.names, chosen, self.times[places], lat, lon)

    def maps(self, times: np.ndarray) -> np.ndarray:
        """The fields (..., field, lat, lon) at dates of any shape."""
        asked = np.asarray(times, dtype="datetime64[ns]")
        places = dates(self.fields).get_indexer(pd.DatetimeIndex(asked.ravel()))
        if (places < 0).any():
            raise GreymatchError(f"{self.where} has no state at {asked.ravel()[places < 0][0]}.")
        values = self.at(places, 1).values[:, 0].numpy()
        return values.reshape(*asked.shape, *values.shape[1:])

    def chunks(self, length: int, every: int | None = None) -> Iterator[Chunk]:
        """One after the other, `length` states each, and `every` states apart; by default end to end."""
        for start in self.starts(length, every or length):
            yield self.at([start], length)

    def follows(self) -> np.ndarray:
        """Whether each state but the first is one step after the one before it."""
        if self.step == "month":
            months = self.times.astype("datetime64[M]").astype(int)
            return np.diff(months) == 1
        return np.diff(self.times) == np.timedelta64(int(self.step), "h")

    def _check_whole(self, values: np.ndarray, places: np.ndarray) -> None:
        whole = np.isfinite(values).all(axis=(2, 3))
        if not whole.all():
            time, field = np.argwhere(~whole)[0]
            raise GreymatchError(
                f"{self.where} has values of {self.names[field]} that are not finite, at {self.times[places[time]]}. "
                "The file may be damaged; fetch it again."
            )

    def _with(self, fields: xr.Dataset) -> Archive:
        return replace(self, fields=fields)

    def __repr__(self) -> str:
        sizes, times = self.fields.sizes, dates(self.fields)
        step = "a month" if self.step == "month" else f"{self.step} h"
        what = "simulated" if self.simulated else "of"
        return (
            f"Archive({sizes['time']} maps {what} {', '.join(self.names)} on {sizes['lat']}x{sizes['lon']} grid, "
            f"{times[0]:%Y-%m-%d} to {times[-1]:%Y-%m-%d}, step {step})"
        )
