"""The axes of an archive, put in order: times that increase, latitudes from south to north, longitudes from 0 on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from greymatch.errors import GreymatchError

NAMES = {"latitude": "lat", "longitude": "lon"}
DIMS = ("time", "lat", "lon")
_BLOCK = 1 << 20  # bytes
_TOLERANCE = 1e-3  # of a grid step: coordinates kept in single precision


def in_order(data: xr.Dataset, where: str) -> xr.Dataset:
    """The dataset over (time, lat, lon) or (lat, lon), with latitude ascending and longitude in [0, 360)."""
    data = data.rename({long: short for long, short in NAMES.items() if long in data.dims})
    missing = {"lat", "lon"} - set(data.indexes)
    if missing:
        raise GreymatchError(
            f"{where} must have the axes latitude and longitude (or lat and lon); it has {list(data.indexes)}."
        )
    data = data.assign_coords(lon=data["lon"] % 360)
    for axis in ("lat", "lon"):
        data = data if data.indexes[axis].is_monotonic_increasing else data.sortby(axis)
        check_regular(data[axis].values, axis, where)
    return data.transpose(*(dim for dim in DIMS if dim in data.dims), ...)


def in_blocks(data: xr.Dataset) -> xr.Dataset:
    """The dataset, opened without dask, in blocks of whole maps: of a size that is quick to read at any place."""
    maps = _BLOCK // (4 * data.sizes["lat"] * data.sizes["lon"])
    return data.chunk(time=max(1, maps), lat=-1, lon=-1)


def check_regular(points: np.ndarray, axis: str, where: str) -> None:
    steps = np.diff(points)
    if len(points) < 2 or steps.min() <= 0 or np.ptp(steps) > _TOLERANCE * steps.mean():
        raise GreymatchError(
            f"{where} must have a regular grid; {axis} goes {points[:3]} ... {points[-2:]}. Regrid it to even steps."
        )


def check_times(times: np.ndarray, where: str) -> None:
    if not np.issubdtype(times.dtype, np.datetime64):
        raise GreymatchError(f"{where} must have dates as times; got {times.dtype}.")
    wrong = np.flatnonzero(np.diff(times) <= np.timedelta64(0))
    if len(wrong):
        at = wrong[0]
        raise GreymatchError(
            f"times must increase; {where} has {times[at + 1]} after {times[at]}. Is a file there twice?"
        )


def every(data: xr.Dataset, hours: int, where: str) -> xr.Dataset:
    """The states at 0, `hours`, 2 `hours`, ... UTC of each day."""
    if hours < 1 or 24 % hours:
        raise GreymatchError(f"`hours` must divide 24; got {hours}. Use 1, 2, 3, 4, 6, 8, 12 or 24.")
    times = dates(data)
    kept = np.flatnonzero((times.hour % hours == 0) & (times.minute == 0) & (times.second == 0))
    if not len(kept):
        raise GreymatchError(f"{where} has no states at whole multiples of {hours} h UTC; it starts at {times[0]}.")
    return data if len(kept) == len(times) else data.isel(time=kept)


def dates(data: xr.Dataset) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(data["time"].values)
