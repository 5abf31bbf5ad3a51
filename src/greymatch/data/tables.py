"""From long tables, one row per trajectory and time, to Datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from greymatch.data.axes import check_clock_type, plain
from greymatch.data.choosing import check_known
from greymatch.errors import GreymatchError

NOTES = "greymatch"
"""Where a table's `attrs` keep the role, units and interpolation of its columns; parquet files carry it."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where each row of a table goes: its trajectory, and its position along that trajectory."""

    row: np.ndarray
    point: np.ndarray
    labels: np.ndarray

    def spread(self, column: np.ndarray) -> np.ndarray:
        """The column as (trajectory, point), NaN after each trajectory's end."""
        out = np.full((len(self.labels), int(self.point.max()) + 1), np.nan, dtype=column.dtype)
        out[self.row, self.point] = column
        return out

    def first(self, column: np.ndarray) -> np.ndarray:
        """The column's first value in each trajectory."""
        start = np.empty(len(self.labels), dtype=int)
        start[self.row[self.point == 0]] = np.flatnonzero(self.point == 0)
        return column[start]


def from_table(
    table: pd.DataFrame, states: Sequence[str] | None, inputs: Sequence[str], trajectory: str, time: str
) -> xr.Dataset:
    """The Dataset over (trajectory, time), each trajectory with its own times, in the order of the rows."""
    table = _tidy(table, trajectory, time)
    notes = {name: note for name, note in table.attrs.get(NOTES, {}).items() if name in table.columns}
    asked = {*(states or ()), *inputs}
    truth = [name for name, note in notes.items() if note.get("role") == "truth" and name not in asked]
    keys = {trajectory, time, *truth, *asked}
    series = [name for name in table.columns if name not in keys and _is_series(_column(table, name))]
    series = [*(states if states is not None else series), *inputs]
    check_known("states", states or (), table.columns)
    check_known("inputs", inputs, table.columns)
    where = _places(table, trajectory, time)
    dims = (trajectory, time)
    variables = {name: (dims, where.spread(numbers(table, name)), notes.get(name, {})) for name in series}
    variables |= {name: ((trajectory,), where.first(table[name].to_numpy()), notes[name]) for name in truth}
    coords = {trajectory: where.labels, time: (dims, where.spread(_times(table, time)), notes.get(time, {}))}
    return xr.Dataset(variables, coords)


def numbers(table: pd.DataFrame, name: str) -> np.ndarray:
    """The column as floating-point numbers; text that is not a number is an error."""
    column = _column(table, name)
    if not _is_number(column):
        parsed = _parsed(column)
        bad = np.flatnonzero(parsed.isna() & column.notna())
        if bad.size:
            raise GreymatchError(
                f"column {name!r} must hold numbers; row {bad[0]} (from 0) has {column.iloc[bad[0]]!r}. "
                "Leave it empty if it is missing, or leave the column out of `states`."
            )
        column = parsed
    single = column.dtype == np.float32
    return column.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)


def _tidy(table: pd.DataFrame, trajectory: str, time: str) -> pd.DataFrame:
    """Named columns only, each once, with the axes among them and at least one row."""
    if any(name is not None for name in table.index.names):
        table = table.reset_index()
    table = table.rename(columns=str)
    if table.empty:
        raise GreymatchError(f"the table must have rows; got {len(table)} rows of {list(table.columns)}.")
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise GreymatchError(f"every column needs its own name; {twice[0]!r} stands twice.")
    check_known("time", [time], table.columns)
    if trajectory != "trajectory":
        check_known("trajectory", [trajectory], table.columns)
    return table


def _places(table: pd.DataFrame, trajectory: str, time: str) -> Places:
    if trajectory not in table.columns:
        _check_single(table, trajectory, time)
        return Places(np.zeros(len(table), dtype=int), np.arange(len(table)), np.zeros(1, dtype=int))
    codes, labels = pd.factorize(table[trajectory])
    if (codes < 0).any():
        raise GreymatchError(f"every row needs a {trajectory!r}; row {np.argmin(codes)} (from 0) has none.")
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(np.bincount(codes)) - np.bincount(codes)
    point = np.empty(len(codes), dtype=int)
    point[order] = np.arange(len(codes)) - starts[codes[order]]
    return Places(codes, point, plain(np.asarray(labels)))


def _check_single(table: pd.DataFrame, trajectory: str, time: str) -> None:
    times = _times(table, time)
    stuck = np.flatnonzero(np.diff(times) <= 0)
    if stuck.size:
        raise GreymatchError(
            f"a table without a {trajectory!r} column is one trajectory, and its times must increase; "
            f"{times[stuck[0] + 1]:g} follows {times[stuck[0]]:g} (row {stuck[0] + 1}, from 0). "
            f"If it holds several, name their column in `trajectory`: the table has {list(table.columns)}."
        )


def _times(table: pd.DataFrame, time: str) -> np.ndarray:
    if pd.api.types.is_datetime64_any_dtype(table[time]) or pd.api.types.is_timedelta64_dtype(table[time]):
        check_clock_type(time, table[time].dtype)
    times = numbers(table, time).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        raise GreymatchError(f"every row needs a finite {time!r}; row {bad[0]} (from 0) has {times[bad[0]]}.")
    return times


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    return pd.Series(table[name])  # no copy; says that the name stands for one column


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column)


def _is_series(column: pd.Series) -> bool:
    """Whether a column not asked for is data: numbers, or numbers with text among them, refused later."""
    if _is_number(column):
        return not pd.api.types.is_bool_dtype(column)
    if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
        return False
    return 0 < _parsed(column).notna().sum() < column.notna().sum()


def _parsed(column: pd.Series) -> pd.Series:
    return pd.Series(pd.to_numeric(column, errors="coerce"), index=column.index)
