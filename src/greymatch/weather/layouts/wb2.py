"""WeatherBench 2: one Zarr store with long names, levels as an axis, longitude before latitude."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.weather.axes import dates, in_blocks, in_order
from greymatch.weather.fields import GRAVITY, Field
from greymatch.weather.layouts.levels import at_level, grouped, stacked
from greymatch.weather.layouts.storing import finish, finished
from greymatch.weather.splits import Years

SURFACE, MASK = "geopotential_at_surface", "land_sea_mask"
_MARKS = ("zarr.json", ".zgroup", ".zmetadata")
_TOGETHER = 40  # states in a chunk


def looks_like(path: Path) -> bool:
    return any((path / mark).exists() for mark in _MARKS)


def open_fields(path: Path | str, fields: Sequence[Field], years: Years | None) -> xr.Dataset:
    """Each field by our name over (time, lat, lon), lazily."""
    store, where = _open(path), repr(str(path))
    absent = [field.long for field in fields if field.long not in store.data_vars]
    if absent:
        known = [str(name) for name in store.data_vars]
        raise GreymatchError(f"{where} must hold {absent[0]!r}; it has {known}.{did_you_mean(absent[0], known)}")
    chosen = {field.name: at_level(store[field.long], field, where).drop_attrs() for field in fields}
    data = in_blocks(in_order(xr.Dataset(chosen, attrs=store.attrs), where))
    if years is None:
        return data
    found = data.sel(time=slice(str(years[0]), str(years[1])))
    if not found.sizes["time"]:
        raise GreymatchError(f"{where} has no state from {years[0]} to {years[1]}; it has {_span(data)}.")
    return found


def open_constants(path: Path | str) -> xr.Dataset:
    """Orography (m) and land (0 to 1), as far as they are there."""
    store = _open(path)
    still: dict[str, Any] = {}
    if SURFACE in store.data_vars:
        still["orography"] = store[SURFACE] / GRAVITY
    if MASK in store.data_vars:
        still["land"] = store[MASK]
    return in_order(xr.Dataset(still).load(), repr(str(path))) if still else xr.Dataset()


def _open(path: Path | str, consolidated: bool = True) -> xr.Dataset:
    # a remote store is taken to have its metadata in one place; a local one may lack that
    there = consolidated and ("://" in str(path) or (Path(path) / ".zmetadata").exists())
    try:
        return xr.open_dataset(path, engine="zarr", chunks=None, decode_timedelta=False, consolidated=there)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise GreymatchError(f"{str(path)!r} could not be opened as Zarr: {error}") from error


def _span(data: xr.Dataset) -> str:
    times = dates(data)
    return f"{times[0]:%Y-%m-%d} to {times[-1]:%Y-%m-%d}" if len(times) else "none"


def ledger(path: Path) -> Path:
    """Where the finished years are noted: beside the store, which holds nothing but arrays."""
    return path.with_suffix(".years.json")


def write_year(path: Path, year: int, maps: xr.Dataset, constants: xr.Dataset) -> None:
    """Append one year of maps by our names; years come in order."""
    done = finished(ledger(path))
    if done and year < max(done):
        raise GreymatchError(f"{str(path)!r} already goes to {max(done)}; {year} cannot be put before it.")
    data = _by_long_name(maps)
    if not done:
        whole = data.assign(_still(constants))
        whole.to_zarr(path, mode="w", consolidated=True, zarr_format=2, encoding=_encoding(data))
    else:
        _drop_after(path, max(done))
        data.to_zarr(path, append_dim="time", consolidated=True)
    finish(ledger(path), year)


def _by_long_name(maps: xr.Dataset) -> xr.Dataset:
    named = {long: stacked(maps, group) for long, group in grouped(maps, "long").items()}
    data = xr.Dataset(named).rename(lat="latitude", lon="longitude")
    return data.transpose("time", ..., "longitude", "latitude").assign_attrs(maps.attrs)


def _encoding(data: xr.Dataset) -> dict[str, Any]:
    chunks = {str(name): {"chunks": (_TOGETHER, *array.shape[1:])} for name, array in data.data_vars.items()}
    return chunks | {"time": {"units": "hours since 1959-01-01", "dtype": "int64", "chunks": (100_000,)}}


def _still(constants: xr.Dataset) -> dict[str, xr.DataArray]:
    turned = constants.rename(lat="latitude", lon="longitude").transpose("longitude", "latitude")
    return {SURFACE: (turned["orography"] * GRAVITY).astype(np.float32), MASK: turned["land"].astype(np.float32)}


def _drop_after(path: Path, year: int) -> None:
    """Cut off what a run that was stopped had begun to append."""
    import zarr

    with _open(path, consolidated=False) as store:
        kept = int(np.count_nonzero(dates(store).year <= year))
        axes = {str(name): array.dims.index("time") for name, array in store.variables.items() if "time" in array.dims}
    group = zarr.open_group(path, mode="r+")
    for name, array in group.arrays():
        if name in axes and array.shape[axes[name]] > kept:
            array.resize(tuple(kept if i == axes[name] else size for i, size in enumerate(array.shape)))
