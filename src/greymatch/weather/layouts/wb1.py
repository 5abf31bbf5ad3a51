"""WeatherBench 1: a folder for each variable, in it one NetCDF file for each year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.weather.axes import in_blocks, in_order
from greymatch.weather.fields import FIELDS, Field
from greymatch.weather.layouts.levels import at_level, grouped, stacked
from greymatch.weather.layouts.storing import compressed, finish, write_netcdf
from greymatch.weather.splits import Years

_YEAR = re.compile(r"_(\d{4})_")
_STILL = {"lsm": "land", "orography": "orography"}


def looks_like(path: Path) -> bool:
    folders = {name for field in FIELDS.values() for name in (field.folder, field.long)}
    return path.is_dir() and any((path / name).is_dir() for name in folders)


def open_fields(path: Path, fields: Sequence[Field], years: Years | None) -> xr.Dataset:
    """Each field by our name over (time, lat, lon), lazily."""
    opened = {field.name: _open_field(path, field, years) for field in fields}
    data = xr.merge(list(opened.values()), join="exact", combine_attrs="drop_conflicts")
    return data[[field.name for field in fields]]


def open_constants(path: Path) -> xr.Dataset:
    """Orography (m) and land (0 to 1), as far as they are there."""
    files = sorted((path / "constants").glob("*.nc"))
    if not files:
        return xr.Dataset()
    with xr.open_dataset(files[0], engine="h5netcdf") as data:
        kept = [name for name in _STILL if name in data.data_vars]
        return in_order(data[kept].rename({name: _STILL[name] for name in kept}).load(), repr(str(files[0])))


def _open_field(path: Path, field: Field, years: Years | None) -> xr.Dataset:
    files = _files(path, field, years)
    parts = [_open_file(file, field) for file in files]
    return xr.concat(parts, "time", coords="minimal", compat="override", join="exact", combine_attrs="drop_conflicts")


def _open_file(file: Path, field: Field) -> xr.Dataset:
    try:
        data = xr.open_dataset(file, engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise GreymatchError(f"{str(file)!r} is not a whole NetCDF file ({error}). Fetch it again.") from error
    if field.short not in data.data_vars:
        raise GreymatchError(f"{str(file)!r} must hold the variable {field.short!r}; it has {list(data.data_vars)}.")
    array = at_level(data[field.short], field, repr(str(file)))
    return in_blocks(in_order(array.to_dataset(name=field.name).assign_attrs(data.attrs), repr(str(file))))


def _files(path: Path, field: Field, years: Years | None) -> list[Path]:
    folder = next((path / name for name in (field.folder, field.long) if (path / name).is_dir()), None)
    if folder is None:
        there = [one.name for one in path.iterdir() if one.is_dir()]
        raise GreymatchError(
            f"{str(path)!r} must hold the folder {field.folder!r} with {field.title}; it has {sorted(there)}."
            + did_you_mean(field.folder, there)
        )
    dated = {int(found[1]): file for file in sorted(folder.glob("*.nc")) if (found := _YEAR.search(file.name))}
    kept = [file for year, file in sorted(dated.items()) if years is None or years[0] <= year <= years[1]]
    if not kept:
        asked = "any year" if years is None else f"{years[0]} to {years[1]}"
        example = _name(field, years[0] if years else 2018)
        raise GreymatchError(f"{str(folder)!r} has no file for {asked}, such as {example}; it has {sorted(dated)}.")
    return kept


def _name(field: Field, year: int, degrees: str = "5.625deg") -> str:
    return f"{field.stem}_{year}_{degrees}.nc"


def ledger(path: Path) -> Path:
    """Where the finished years are noted."""
    return path / "wb1.years.json"


def write_year(path: Path, year: int, maps: xr.Dataset, constants: xr.Dataset) -> None:
    """One year of maps by our names."""
    degrees = f"{float(np.diff(maps['lat'].values).mean()):g}deg"
    for group in grouped(maps, "folder").values():
        data = stacked(maps, group).rename(group[0].short).to_dataset().assign_attrs(maps.attrs)
        if data.sizes.get("level") == 1:  # as the folders of single levels have it
            data = data.isel(level=0)
        write_netcdf(path / group[0].folder / _name(group[0], year, degrees), data, compressed(data))
    still = constants.rename(land="lsm").assign_attrs(maps.attrs)
    write_netcdf(path / "constants" / f"constants_{degrees}.nc", still, {})
    finish(ledger(path), year)
