"""The units that data state, and those that the caller states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import xarray as xr

from greymatch.data.choosing import check_known
from greymatch.errors import GreymatchError


def said_units(units: Mapping[str, str] | None, time: str) -> dict[str, str]:
    """The caller's units, that of the time axis under "time" whatever it is called."""
    if units is None:
        return {}
    if not isinstance(units, Mapping) or not all(isinstance(unit, str) for unit in units.values()):
        raise GreymatchError(
            f'`units` must be a text for each name, such as {{"angle": "rad", "time": "s"}}; got {units!r}.'
        )
    return {"time" if name == time else name: unit for name, unit in units.items()}


def all_units(dataset: xr.Dataset, time: str, names: Iterable[str], said: Mapping[str, str]) -> dict[str, str]:
    """The units of the names kept and of the time, from the data and from the caller, who must agree."""
    names = [*names]
    found = {name: dataset[name].attrs.get("units") for name in (*names, time) if name in dataset.variables}
    stated = {"time" if name == time else name: str(unit) for name, unit in found.items() if unit is not None}
    check_known("units", said, [*names, "time"])
    for name, unit in said.items():
        if stated.get(name, unit) != unit:
            raise GreymatchError(
                f"`units` must agree with the data; {name!r} is in {stated[name]!r}, and {unit!r} was said. "
                "Convert the values first, or leave the unit out."
            )
    return stated | dict(said)
