"""Forecasts with labels: fields over (time, lead, [member,] lat, lon)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.fields import FIELDS

Predictor = Callable[[np.ndarray], xr.Dataset]
"""From start dates (time,) to their forecasts, as `labelled` makes them."""

DIMS = ("time", "lead", "member", "lat", "lon")


def labelled(archive: Archive, starts: np.ndarray, leads: Sequence[int], values: np.ndarray) -> xr.Dataset:
    """A forecast from values (time, lead, field, lat, lon), or (time, lead, member, field, lat, lon).

    `leads` are hours, or months where the archive is of monthly means.
    """
    dims = DIMS if values.ndim == 6 else tuple(dim for dim in DIMS if dim != "member")
    axis = dims.index("lat")
    unit = "months" if archive.step == "month" else "hours"
    coords = {
        "time": np.asarray(starts, dtype="datetime64[ns]"),
        "lead": ("lead", np.asarray(leads), {"units": unit, "long_name": "time since the start"}),
        "lat": archive.fields["lat"].values,
        "lon": archive.fields["lon"].values,
    }
    arrays = {
        name: (dims, np.take(values, i, axis=axis), {"units": FIELDS[name].units})
        for i, name in enumerate(archive.names)
    }
    return xr.Dataset(arrays, coords)


def unlabelled(forecast: xr.Dataset, names: Sequence[str]) -> np.ndarray:
    """Values (time, lead, member, field, lat, lon); without members, as one."""
    missing = [name for name in names if name not in forecast.data_vars]
    if missing:
        raise GreymatchError(f"a forecast must hold {', '.join(names)}; it lacks {', '.join(missing)}.")
    if "member" not in forecast.dims:
        forecast = forecast.expand_dims("member")
    stacked = forecast[list(names)].to_array("field")
    return stacked.transpose("time", "lead", "member", "field", "lat", "lon").values


def start_dates(archive: Archive, leads: Sequence[int], every: int = 1) -> np.ndarray:
    """Dates from which all `leads` can be judged: every hour of the day that the archive has, or each `every`-th."""
    step = 1 if archive.step == "month" else int(archive.step)
    wrong = [lead for lead in leads if lead < 1 or lead % step]
    if wrong or not len(leads):
        raise GreymatchError(f"`leads` must be multiples of the archive's step, {step}; got {list(leads)}.")
    return archive.times[archive.starts(max(leads) // step + 1, every)]
