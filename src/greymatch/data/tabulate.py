"""From Datasets to long tables, one row per trajectory and time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from greymatch.data.dates import dated, epoch_of
from greymatch.data.naming import NOTES
from greymatch.errors import GreymatchError


def to_table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row per trajectory and time; rows of inputs on an axis of their own are put between by time.

    A forecast has rows for each draw, with where it `start`ed and its `status`.
    """
    _check_labels(dataset)
    table = _rows(dataset, "time")
    if "input_times" in dataset.variables:
        table = table.merge(_rows(dataset, "input_times"), how="outer", on=["trajectory", "time"])
        table = table.iloc[np.lexsort((table["time"], _positions(dataset, table)))].reset_index(drop=True)
    notes = {name: _note(dataset[name].variable) for name in table.columns if name in dataset.variables}
    for name in truth_names(dataset):
        table[name] = dataset[name].values[_positions(dataset, table)]
        notes[name] = _note(dataset[name].variable) | {"role": "truth"}
    if "draw" in dataset.dims and "status" in dataset:
        table["start"] = dataset["start"].values[_positions(dataset, table)]
        table["status"] = dataset["status"].values[table["draw"].to_numpy(), _positions(dataset, table)]
    if "date" in dataset.coords:
        table["date"] = _dates(dataset, table)
        notes["date"] = {"role": "date"}
    table.attrs = {NOTES: {name: note for name, note in notes.items() if note}}
    return table


def _dates(dataset: xr.Dataset, table: pd.DataFrame) -> np.ndarray:
    """The date of each row, from that of its trajectory's first point."""
    unit = dataset["time"].attrs.get("units")
    times = np.broadcast_to(dataset["time"].values, dataset["date"].shape)
    epoch = epoch_of(dataset["date"].values[:, 0], times[:, 0], unit)
    return dated(epoch[_positions(dataset, table)], table["time"].to_numpy(), unit)


def truth_names(dataset: xr.Dataset) -> list[str]:
    return [str(name) for name, array in dataset.data_vars.items() if array.dims == ("trajectory",)]


def _rows(dataset: xr.Dataset, clock: str) -> pd.DataFrame:
    """The variables along one clock as a table; points after a trajectory's end are left out."""
    when = dataset[clock].variable
    (axis,) = (str(dim) for dim in when.dims if dim != "trajectory")
    along = [str(name) for name, array in dataset.data_vars.items() if axis in array.dims]
    flat = dataset[along].reset_coords(drop=True).drop_vars(axis, errors="ignore").assign({"_when": when})
    table = flat.to_dataframe(dim_order=list(dataset[along[0]].dims)).reset_index()
    table = table.drop(columns=axis).rename(columns={"_when": "time"}).dropna(subset=["time"])
    keys = [name for name in table.columns if name not in along]
    return table.reindex(columns=[*keys, *along]).reset_index(drop=True)


def _check_labels(dataset: xr.Dataset) -> None:
    labels = pd.Index(dataset["trajectory"].values)
    if not labels.is_unique:
        again = labels[labels.duplicated()].tolist()[0]
        raise GreymatchError(f"a table needs a label for each trajectory; {again!r} stands twice. Write .nc.")


def _positions(dataset: xr.Dataset, table: pd.DataFrame) -> np.ndarray:
    """The trajectory of each row, as a position."""
    return pd.Index(dataset["trajectory"].values).get_indexer(pd.Index(table["trajectory"]))


def _note(array: xr.Variable) -> dict[str, str]:
    return {key: str(array.attrs[key]) for key in ("role", "units", "interpolation") if key in array.attrs}
