"""Levels of pressure, as an axis of a file or as part of a field's name."""

from __future__ import annotations

from collections.abc import Iterable

import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.fields import FIELDS, Field


def at_level(array: xr.DataArray, field: Field, where: str) -> xr.DataArray:
    """The array at the field's level, where it has several."""
    if "level" not in array.dims:
        return array.drop_vars("level", errors="ignore")
    if field.level not in array["level"].values:
        raise GreymatchError(f"{where} has no level {field.level} hPa; it has {array['level'].values.tolist()}.")
    return array.sel(level=field.level, drop=True)


def stacked(maps: xr.Dataset, group: Iterable[Field]) -> xr.DataArray:
    """The maps of one variable with their levels as an axis; one alone as it is."""
    fields = sorted(group, key=lambda field: field.level or 0)
    arrays = [maps[field.name].drop_attrs() for field in fields]
    if fields[0].level is None:
        joined = arrays[0]
    else:
        levels = xr.DataArray([field.level for field in fields], dims="level", name="level", attrs={"units": "hPa"})
        joined = xr.concat(arrays, levels).transpose("time", "level", ...)
    return joined.assign_attrs(units=fields[0].units)


def grouped(maps: xr.Dataset, key: str) -> dict[str, list[Field]]:
    """The fields among `maps` that share a value of `key`, an attribute of `Field`."""
    groups: dict[str, list[Field]] = {}
    for field in FIELDS.values():
        if field.name in maps:
            groups.setdefault(getattr(field, key), []).append(field)
    return groups
