"""From long tables, one row per trajectory and time, to Datasets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from greymatch.data.choosing import check_known
from greymatch.data.columns import is_series, moments, numbers, only_column
from greymatch.data.naming import NOTES, Wanted, rename_columns
from greymatch.data.places import Places, places
from greymatch.errors import GreymatchError


def from_table(table: pd.DataFrame, wanted: Wanted, trajectory: str, time: str) -> xr.Dataset:
    """The Dataset over (trajectory, time), each trajectory with its own times, in the order of the rows."""
    table = rename_columns(_tidy(table), wanted, [trajectory, time])
    check_known("time", [time], table.columns)
    if trajectory != "trajectory":
        check_known("trajectory", [trajectory], table.columns)
    notes = {name: note for name, note in table.attrs[NOTES].items() if name in table.columns}
    truth, dates = (_noted(notes, role, wanted) for role in ("truth", "date"))
    states = _states(table, wanted, {trajectory, time, *truth, *dates})
    times = moments(table, time)
    where = _places(table, trajectory, times)
    dims = (trajectory, time)
    columns = [*zip(states, numbers(table, states).T, strict=True)]
    columns += zip(wanted.inputs, numbers(table, wanted.inputs).T, strict=True)
    variables = {name: (dims, where.spread(column), notes.get(name, {})) for name, column in columns}
    variables |= {name: ((trajectory,), where.first(table[name].to_numpy()), notes[name]) for name in truth}
    coords = {trajectory: where.labels, time: (dims, where.spread(times), notes.get(time, {}))}
    coords |= {name: (dims, where.spread(moments(table, name)), notes[name]) for name in dates}
    return xr.Dataset(variables, coords)


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    """Named columns only, each once, and at least one row."""
    if any(name is not None for name in table.index.names):
        table = table.reset_index()
    table = table.rename(columns=str)
    if table.empty:
        raise GreymatchError(
            f"the table must have rows; got {len(table)} rows of {list(table.columns)}. Is it the right file?"
        )
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise GreymatchError(f"every column needs its own name; {twice[0]!r} stands twice. Rename one of them.")
    return table


def _noted(notes: dict[str, dict[str, str]], role: str, wanted: Wanted) -> list[str]:
    """The columns that `write` gave this role, and that are not asked for as anything else."""
    return [name for name, note in notes.items() if note.get("role") == role and name not in wanted.columns]


def _states(table: pd.DataFrame, wanted: Wanted, but: set[str]) -> Sequence[str]:
    if wanted.states is not None:
        return wanted.states
    others = [name for name in table.columns if name not in but and name not in wanted.inputs]
    return [name for name in others if is_series(only_column(table, name))]


def _places(table: pd.DataFrame, trajectory: str, times: np.ndarray) -> Places:
    if trajectory in table.columns:
        return places(only_column(table, trajectory))
    _check_single(times, trajectory, list(table.columns))
    return Places(np.zeros(1, dtype=int), np.array([len(times)]))


def _check_single(times: np.ndarray, trajectory: str, columns: Sequence[str]) -> None:
    stuck = np.flatnonzero(times[1:] <= times[:-1])
    if stuck.size:
        before, after = (str(times[stuck[0] + i]).removesuffix(".0") for i in (0, 1))
        raise GreymatchError(
            f"a table without a {trajectory!r} column is one trajectory, and its times must increase; "
            f"{after} follows {before} (row {stuck[0] + 1}, from 0). "
            f"If it holds several, name their column in `trajectory`: the table has {columns}."
        )
