"""Forecasts from files, and from long tables with one row per draw, trajectory and time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from greymatch.data.choosing import check_known
from greymatch.data.columns import moments, numbers, only_column
from greymatch.data.naming import NOTES, Wanted, rename_columns
from greymatch.data.openers import open_file
from greymatch.data.places import Places, places
from greymatch.errors import GreymatchError
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.labelled import from_dataset

_AXES = ("draw", "trajectory", "time", "start", "status")


def read_forecast(path: Path) -> Forecast:
    """The forecast that `write` wrote."""
    source = open_file(path)
    return from_dataset(_from_table(source) if isinstance(source, pd.DataFrame) else source)


def _from_table(table: pd.DataFrame) -> xr.Dataset:
    table = rename_columns(table, Wanted(None, (), {}), _AXES)
    check_known("path", _AXES, table.columns)
    where, count = _laid_out(table)
    notes, dims = table.attrs[NOTES], ("draw", "trajectory", "time")

    def of_draws(name: str) -> np.ndarray:
        return np.stack([where.spread(part) for part in np.split(numbers(table, [name])[:, 0], count)])

    def of_first(column: np.ndarray) -> np.ndarray:
        return where.spread(column[: len(column) // count])

    states = [name for name in table.columns if name not in (*_AXES, "date")]
    variables: dict[str, Any] = {
        name: (dims, of_draws(name), {"order": i, **notes.get(name, {})}) for i, name in enumerate(states)
    }
    variables["status"] = (dims[:2], of_draws("status")[:, :, 0].astype(np.int8), {})
    coords: dict[str, Any] = {
        "trajectory": where.labels,
        "time": (dims[1:], of_first(moments(table, "time")), notes.get("time", {})),
        "start": (dims[1:2], of_first(numbers(table, ["start"])[:, 0])[:, 0]),
    }
    if "date" in table.columns:
        coords["date"] = (dims[1:], of_first(moments(table, "date")), {"role": "date"})
    return xr.Dataset(variables, coords)


def _laid_out(table: pd.DataFrame) -> tuple[Places, int]:
    """Where the rows of the first draw go, and how many draws there are, each with the same rows."""
    draws = only_column(table, "draw").to_numpy()
    count = max(1, len(np.unique(draws)))
    rows = len(table) // count
    keys = table[["trajectory", "time"]]
    alike = len(table) == rows * count and all(
        keys.iloc[:rows].equals(keys.iloc[i * rows : (i + 1) * rows].reset_index(drop=True)) for i in range(count)
    )
    if not rows or not alike or (draws != np.repeat(draws[::rows], rows)).any():
        raise GreymatchError(
            f"a table of a forecast must hold the same trajectories and times for each of its {count} draws, one draw "
            f"after another, as `gm.write` puts them; it has {len(table)} rows. Write it again, or as .nc."
        )
    return places(only_column(table, "trajectory").iloc[:rows]), count
