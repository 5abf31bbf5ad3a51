"""The columns of a table as numbers, or as dates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from greymatch.data.checks import all_finite
from greymatch.errors import GreymatchError

_SINGLE = ("float32", "Float32", "float[pyarrow]")
_FIX = "Leave it empty if it is missing, or leave the column out of `states`."
_MOMENTS = "numbers, or dates such as 2024-05-31T12:00:00"


def numbers(table: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """The columns (row, column) as floating-point numbers; text that is not a number is an error."""
    columns = [only_column(table, name) for name in names]
    columns = [one if is_number(one) else _parsed(one, "numbers", pd.to_numeric, _FIX) for one in columns]
    single = bool(columns) and all(one.dtype.name in _SINGLE for one in columns)
    out = np.empty((len(table), len(columns)), dtype=np.float32 if single else np.float64)
    for index, column in enumerate(columns):
        _fill(out[:, index], column)
    return out


def _fill(out: np.ndarray, column: pd.Series) -> None:
    """Put the column's numbers into `out`, missing ones as NaN, piece by piece as a file was read."""
    if isinstance(column.dtype, pd.ArrowDtype):
        start = 0
        for piece in column.array.__arrow_array__().chunks:  # pyright: ignore[reportAttributeAccessIssue]
            out[start : start + len(piece)] = piece.to_numpy(zero_copy_only=False)
            start += len(piece)
    elif column.dtype in (np.float32, np.float64):
        out[:] = column.to_numpy()
    else:
        out[:] = column.to_numpy(dtype=out.dtype, na_value=np.nan)


def moments(table: pd.DataFrame, name: str) -> np.ndarray:
    """The time of each row: numbers, or dates (datetime64, UTC), or durations (timedelta64)."""
    column = only_column(table, name)
    if not is_number(column) and not _is_moment(column):
        what, parse = ("dates", _iso_dates) if _looks_like_dates(column) else (_MOMENTS, pd.to_numeric)
        column = _parsed(column, what, parse, "Mend or drop the row.")
    times = _nanoseconds(column) if _is_moment(column) else np.empty(len(column))
    if not _is_moment(column):
        _fill(times, column)
    bad = np.flatnonzero(~np.isfinite(times)) if times.dtype.kind in "mM" or not all_finite(times) else np.empty(0)
    if bad.size:
        got = "none" if pd.isna(times[bad[0]]) else times[bad[0]]
        raise GreymatchError(
            f"every row needs a finite {name!r}, its time; row {bad[0]} (from 0) has {got}. Drop the row."
        )
    return times


def only_column(table: pd.DataFrame, name: str) -> pd.Series:
    return pd.Series(table[name])  # no copy; says that the name stands for one column


def is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column)


def is_series(column: pd.Series) -> bool:
    """Whether a column not asked for is data: numbers, or numbers with text among them, refused later."""
    if is_number(column):
        return not pd.api.types.is_bool_dtype(column)
    if not _is_text(column):
        return False
    parsed = _coerced(column, pd.to_numeric)
    return 0 < parsed.notna().sum() < column.notna().sum()


def _is_text(column: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)


def _is_moment(column: pd.Series) -> bool:
    return pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column)


def _nanoseconds(column: pd.Series) -> np.ndarray:
    zone = getattr(column.dtype, "tz", None)
    plain = column if zone is None else column.dt.tz_convert(None)
    return plain.to_numpy().astype(f"{plain.dtype.kind}8[ns]")


def _looks_like_dates(column: pd.Series) -> bool:
    """Whether the first text there is, is one; a wrong one among many is then refused by its row."""
    first = column.dropna().iloc[:1]
    return _is_text(column) and bool(_coerced(first, _iso_dates).notna().any())


def _iso_dates(column: pd.Series, errors: Literal["coerce"]) -> pd.Series:
    """ISO 8601 alone: whether 03/04 is in March or in April cannot be told."""
    text = column.where(column.isna(), column.astype(str))
    return pd.to_datetime(text, format="ISO8601", utc=True, errors=errors)


def _coerced(column: pd.Series, parse: Callable[..., Any]) -> pd.Series:
    """What `parse` makes of the column, missing where it can make nothing."""
    try:
        parsed = pd.Series(parse(column, errors="coerce"), index=column.index)
    except (ValueError, TypeError, OverflowError):  # of objects that are neither numbers nor texts
        return pd.Series(np.nan, index=column.index)
    return parsed if is_number(parsed) or _is_moment(parsed) else pd.Series(np.nan, index=column.index)


def _parsed(column: pd.Series, what: str, parse: Callable[..., Any], fix: str) -> pd.Series:
    parsed = _coerced(column, parse)
    bad = np.flatnonzero(parsed.isna() & column.notna())
    if bad.size:
        raise GreymatchError(
            f"column {column.name!r} must hold {what}; row {bad[0]} (from 0) has {column.iloc[bad[0]]!r}. " + fix
        )
    return parsed
