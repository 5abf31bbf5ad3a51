"""Names: those that the caller asks for, those that a file has, and the units that stand beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import xarray as xr

from greymatch.data.choosing import check_known
from greymatch.data.signals import Function
from greymatch.errors import GreymatchError

NOTES = "greymatch"
"""Where a table's `attrs` keep the role, units and interpolation of its columns; parquet files carry it."""

States = Sequence[str] | Mapping[str, str]
Inputs = Sequence[str] | Mapping[str, str | Function]

_HEADER = re.compile(r"(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]+)\]")


@dataclass(frozen=True)
class Wanted:
    """What the data are to hold, by its new names; `columns` says under which name the file has it."""

    states: tuple[str, ...] | None
    inputs: tuple[str, ...]
    columns: dict[str, str]
    functions: dict[str, Function] = field(default_factory=dict)

    @staticmethod
    def of(states: States | None, inputs: Inputs) -> Wanted:
        given = {} if states is None else _mapping("states", states)
        driving = _mapping("inputs", inputs)
        functions: dict[str, Any] = {name: value for name, value in driving.items() if callable(value)}
        sampled = {name: value for name, value in driving.items() if name not in functions}
        columns = {name: str(column) for name, column in (given | sampled).items()}
        return Wanted(None if states is None else tuple(given), tuple(sampled), columns, functions)


def rename_columns(table: pd.DataFrame, wanted: Wanted, axes: Sequence[str]) -> pd.DataFrame:
    """The table by its new names; a unit in a header, as in `angle [rad]`, goes to its notes."""
    columns = [str(name) for name in table.columns]
    bare = {_split(name)[0]: name for name in reversed(columns)}
    _check_axes(wanted, axes)
    asked = {name: name for name in axes} | wanted.columns
    found = {new: old if old in columns else bare.get(old) for new, old in asked.items()}
    _check_found(wanted, [*columns, *(set(bare) - set(columns))])
    names = {old: new for new, old in found.items() if old is not None}
    _check_once(names, found)
    taken = {*columns, *names.values()}
    names |= {old: new for new, old in bare.items() if old not in names and new not in taken}
    units = {new: {"units": unit} for old, new in names.items() if (unit := _split(old)[1])}
    table = table.drop(columns=[old for old in columns if old not in names and old in names.values()])
    notes = {names.get(old, old): note for old, note in table.attrs.get(NOTES, {}).items()}
    table = table.rename(columns=names)
    table.attrs = {NOTES: {name: units.get(name, {}) | notes.get(name, {}) for name in {*units, *notes}}}
    return table


def rename_variables(dataset: xr.Dataset, wanted: Wanted) -> xr.Dataset:
    """The dataset by its new names."""
    _check_found(wanted, [str(name) for name in dataset.data_vars])
    names = {old: new for new, old in wanted.columns.items()}
    _check_once(names, wanted.columns)
    names = {old: new for old, new in names.items() if old != new}
    _check_axes(wanted, [str(name) for name in {*dataset.dims, *dataset.coords}])
    shadowed = [new for new in names.values() if new in dataset.data_vars and new not in names]
    return dataset.drop_vars(shadowed).rename_vars(names)


def header(name: str, unit: str | None) -> str:
    """A column's header with its unit, as `rename_columns` reads it; without, if that cannot be."""
    full = f"{name} [{unit}]"
    return full if _split(full) == (name, unit) else name


def _mapping(argument: str, names: Sequence[str] | Mapping[str, object]) -> dict[str, Any]:
    """New names and what stands for them; a plain list keeps the names as they are."""
    if isinstance(names, str) or not isinstance(names, Sequence | Mapping):
        raise GreymatchError(f"`{argument}` must be a list of names, or {{new name: column}}; got {names!r}.")
    pairs: dict[str, Any] = dict(names) if isinstance(names, Mapping) else {name: name for name in names}
    for new, old in pairs.items():
        if not isinstance(new, str) or not (isinstance(old, str) or (callable(old) and argument == "inputs")):
            raise GreymatchError(
                f"`{argument}` must map a new name to a column; got {new!r}: {old!r}. "
                'Write {"angle": "theta_deg"} for a column theta_deg that is to be called angle.'
            )
    if len(pairs) < len(names):
        raise GreymatchError(f"a name must stand once in `{argument}`; got {list(names)}.")
    return pairs


def _check_axes(wanted: Wanted, axes: Sequence[str]) -> None:
    for name in wanted.columns:
        if name in axes:
            raise GreymatchError(f"a state or input must not have the name of an axis; got {name!r}. Choose another.")


def _check_found(wanted: Wanted, known: Sequence[str]) -> None:
    for name, column in wanted.columns.items():
        check_known("inputs" if name in wanted.inputs else "states", [column], known)


def _check_once(names: Mapping[str, str], found: Mapping[str, str | None]) -> None:
    for new, old in found.items():
        if old is not None and names[old] != new:
            raise GreymatchError(f"a column must stand for one name; {old!r} stands for {new!r} and {names[old]!r}.")


def _split(header: str) -> tuple[str, str | None]:
    """A header's name and the unit in brackets behind it, if there is one."""
    match = _HEADER.fullmatch(header)
    return (match["name"], match["unit"].strip()) if match else (header, None)
