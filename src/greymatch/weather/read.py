"""`read`: an archive from WeatherBench 1 or 2, real or simulated."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from greymatch.errors import GreymatchError
from greymatch.weather import axes
from greymatch.weather.archive import Archive
from greymatch.weather.fields import FORECAST, fields_named
from greymatch.weather.layouts import wb1, wb2
from greymatch.weather.splits import Years


def read(
    path: str | os.PathLike[str],
    fields: Sequence[str] = FORECAST,
    years: Years | None = None,
    hours: int = 6,
) -> Archive:
    """An archive that lies in `path`, a folder as of WeatherBench 1 or a Zarr store as of WeatherBench 2.

    ```python
    archive = read("weatherbench")                             # geopotential_500/, temperature_850/, ...
    archive = read("era5-64x32.zarr", years=(2006, 2018))
    truth = read("weatherbench", fields=["u500", "v500"])      # where those are there too
    ```

    Maps are read when they are used. Latitudes come out from south to north and longitudes from 0 on, whatever the
    files have; of the times, those at whole multiples of `hours` are kept, 29 February among them.

    Not for grids that are not regular in latitude and longitude, nor for regions: the models go around the globe.
    """
    chosen, where = fields_named(fields), repr(str(path))
    place, layout = _layout(path)
    data = layout.open_fields(place, chosen, years)
    axes.check_times(data["time"].values, where)
    data = axes.every(data, hours, where)
    return Archive(data, layout.open_constants(place), hours, where)


def _layout(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Where the archive begins, and the module that reads it."""
    if "://" in str(path):
        return str(path), wb2
    folder = Path(path)
    if not folder.is_dir():
        raise GreymatchError(f"no folder {str(path)!r}. `greymatch weather fetch` or `simulate` makes one.")
    if wb2.looks_like(folder):
        return folder, wb2
    if wb1.looks_like(folder):
        return folder, wb1
    stores = [one for one in sorted(folder.iterdir()) if one.is_dir() and wb2.looks_like(one)]
    if len(stores) == 1:
        return stores[0], wb2
    raise GreymatchError(
        f"{str(path)!r} must be a folder in the layout of WeatherBench 1 (with geopotential_500/ and others inside) "
        f"or a Zarr store as of WeatherBench 2; it holds {sorted(one.name for one in folder.iterdir())[:10]}."
    )
