"""The fields that are read and forecast, and what the archives call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greymatch.errors import GreymatchError, did_you_mean

GRAVITY = 9.80665  # m/s^2, between geopotential and height


@dataclass(frozen=True)
class Field:
    """A field by our name, with its names in WeatherBench 1 (folder, file stem, variable) and 2 (variable, level).

    `level` is in hPa, None at the ground; `component` tells that it is a component of a vector.
    """

    name: str
    title: str
    units: str
    folder: str
    stem: str
    short: str
    long: str
    level: int | None = None
    component: bool = False


def _alone(name: str, title: str, units: str, long: str, level: int) -> Field:
    return Field(name, title, units, f"{long}_{level}", f"{long}_{level}hPa", name[0], long, level)


def _among_levels(name: str, title: str, units: str, long: str, level: int, component: bool = False) -> Field:
    return Field(name, title, units, long, long, name[0], long, level, component)


def _near(name: str, title: str, units: str, long: str, component: bool = False) -> Field:
    return Field(name, title, units, long, long, name, long, component=component)


FORECAST = ("z500", "t850", "t2m", "u10", "v10")
"""The five that are forecast, in this order."""

FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        _alone("z500", "geopotential at 500 hPa", "m**2 s**-2", "geopotential", 500),
        _alone("t850", "temperature at 850 hPa", "K", "temperature", 850),
        _near("t2m", "temperature at 2 m", "K", "2m_temperature"),
        _near("u10", "eastward wind at 10 m", "m s**-1", "10m_u_component_of_wind", component=True),
        _near("v10", "northward wind at 10 m", "m s**-1", "10m_v_component_of_wind", component=True),
        _among_levels("z850", "geopotential at 850 hPa", "m**2 s**-2", "geopotential", 850),
        _among_levels("t500", "temperature at 500 hPa", "K", "temperature", 500),
        _among_levels("u500", "eastward wind at 500 hPa", "m s**-1", "u_component_of_wind", 500, component=True),
        _among_levels("v500", "northward wind at 500 hPa", "m s**-1", "v_component_of_wind", 500, component=True),
        _among_levels("u850", "eastward wind at 850 hPa", "m s**-1", "u_component_of_wind", 850, component=True),
        _among_levels("v850", "northward wind at 850 hPa", "m s**-1", "v_component_of_wind", 850, component=True),
    )
}


def fields_named(names: Sequence[str]) -> list[Field]:
    for name in names:
        if name not in FIELDS:
            raise GreymatchError(
                f"`fields` must be among {', '.join(FIELDS)}; got {name!r}.{did_you_mean(name, FIELDS)}"
            )
    if not names or len(set(names)) < len(names):
        raise GreymatchError(f"`fields` must name each field once, and at least one; got {list(names)}.")
    return [FIELDS[name] for name in names]
