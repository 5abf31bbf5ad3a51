"""Forecasts on disk, as WeatherBench 2's own evaluation reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.axes import in_order
from greymatch.weather.fields import fields_named
from greymatch.weather.labelled import Predictor
from greymatch.weather.layouts.levels import at_level, grouped, stacked

_HOUR = np.timedelta64(3600 * 10**9, "ns")
_LEAD, _MEMBER = "prediction_timedelta", "realization"


def write_forecasts(predict: Predictor, starts: np.ndarray, store: Path, archive: Archive, together: int = 32) -> None:
    """Forecasts from `starts` as a Zarr store: long names over (time, prediction_timedelta, longitude, latitude).

    ```python
    write_forecasts(persistence(test), start_dates(test, LEADS), Path("persistence.zarr"), test)
    ```

    They are made and written a few starts at a time. `time` is when a forecast starts; members of an ensemble are along
    `realization`, and levels that a variable was not forecast at are empty.

    Not for monthly means, whose leads are no fixed spans of time.
    """
    if archive.step == "month":
        raise GreymatchError("monthly means have no place in WeatherBench 2's layout, since months differ in length.")
    if store.exists():
        raise GreymatchError(f"{str(store)!r} is there already. Choose another name, or delete it.")
    labels = {name: archive.fields.attrs[name] for name in ("simulated", "title") if name in archive.fields.attrs}
    for first in range(0, len(starts), together):
        data = _by_long_name(predict(starts[first : first + together])).assign_attrs(labels)
        if first == 0:
            data.to_zarr(store, zarr_format=2, consolidated=True, encoding=_encoding(data, together))
        else:
            data.to_zarr(store, append_dim="time", consolidated=True)


def read_forecasts(store: Path | str, fields: Sequence[str]) -> Predictor:
    """A predictor that looks its forecasts up in such a store, ours or another's; each start is read when asked for."""
    with_times = xr.open_dataset(store, engine="zarr", chunks={}, decode_timedelta=True)
    names = {_LEAD: "lead", _MEMBER: "member", "number": "member"}
    data = with_times.rename({old: new for old, new in names.items() if old in with_times.dims})
    where = repr(str(store))
    arrays = {field.name: at_level(data[field.long], field, where) for field in fields_named(fields)}
    chosen = in_order(xr.Dataset(arrays), where)
    hours = (chosen["lead"].values / _HOUR).round().astype(int)
    by_hour = chosen.assign_coords(lead=hours)
    return lambda starts: by_hour.sel(time=starts).load()


def _by_long_name(forecast: xr.Dataset) -> xr.Dataset:
    named = {long: stacked(forecast, group) for long, group in grouped(forecast, "long").items()}
    spans = forecast["lead"].values.astype(np.int64) * _HOUR
    data = xr.Dataset(named).assign_coords(lead=spans)
    data = data.rename({"lead": _LEAD, "lat": "latitude", "lon": "longitude"} | _members(data))
    return data.transpose("time", _LEAD, ..., "longitude", "latitude").astype(np.float32)


def _members(data: xr.Dataset) -> dict[str, str]:
    return {"member": _MEMBER} if "member" in data.dims else {}


def _encoding(data: xr.Dataset, together: int) -> dict[str, Any]:
    chunks = {str(name): {"chunks": (together, *array.shape[1:])} for name, array in data.data_vars.items()}
    start = {"units": "hours since 1959-01-01", "dtype": "int64", "chunks": (100_000,)}
    return chunks | {"time": start, _LEAD: {"units": "hours", "dtype": "int64"}}
