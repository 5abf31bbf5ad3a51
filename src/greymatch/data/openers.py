"""Files of every kind as tables or Datasets."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pandas as pd
import xarray as xr

from greymatch.data.npz import open_npz
from greymatch.errors import GreymatchError, did_you_mean

T = TypeVar("T")
Source = xr.Dataset | pd.DataFrame
_SHOWN = 300  # characters of what a library says
_SEPARATORS = (",", ";", "\t")


def by_suffix(path: Path, known: Mapping[str, T]) -> T:
    """What `known` has for the path's suffix."""
    suffix = path.suffix.lower()
    if suffix not in known:
        raise GreymatchError(
            f"a data file must end in {', '.join(known)}; got {path.name!r}.{did_you_mean(suffix, known)}"
        )
    return known[suffix]


def open_file(path: Path) -> Source:
    """What the file holds; a file that cannot be read is an error, however it is broken."""
    return _opened(path, by_suffix(path, READERS))


def open_store(path: Path) -> xr.Dataset:
    """The same without reading its arrays."""
    if path.suffix.lower() in READERS and path.suffix.lower() not in LAZY:
        raise GreymatchError(
            f"`lazy` is for stores of arrays, {', '.join(LAZY)}; got {path.name!r}. Read it whole, or write it as such "
            'a store first: `gm.write(data, "store.zarr")`.'
        )
    return _opened(path, by_suffix(path, LAZY))


def _opened(path: Path, reader: Callable[[Path], T]) -> T:
    if not path.exists():
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, beside) or " Check the path, and the folder it starts from."
        raise GreymatchError(f"no file {str(path)!r}.{hint}")
    try:
        return reader(path)
    except UnicodeDecodeError as error:
        raise GreymatchError(
            f"{str(path)!r} must be text in UTF-8; {error.reason} at byte {error.start}. Save it as UTF-8, or give "
            'the table as `pandas.read_csv(path, encoding="latin-1")` reads it.'
        ) from error
    except GreymatchError:
        raise
    except Exception as error:  # the libraries raise whatever a broken file leads them to
        said = str(error).strip()[:_SHOWN].rstrip(".") or type(error).__name__
        raise GreymatchError(
            f"{str(path)!r} could not be read as {path.suffix.lower()}: {said}. "
            "It may be cut short, or of another kind than its name says; write it again."
        ) from error


def _netcdf(path: Path) -> xr.Dataset:
    # seconds stay numbers, whatever unit a variable states
    with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as dataset:
        return dataset.load()


def _zarr(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="zarr", chunks=None, decode_timedelta=False) as dataset:
        return dataset.load()


def _unread(engine: str) -> Callable[[Path], xr.Dataset]:
    def opened(path: Path) -> xr.Dataset:
        # an index, or a cache, would hold in memory what grows with the store
        return xr.open_dataset(
            path, engine=engine, chunks=None, cache=False, decode_timedelta=False, create_default_indexes=False
        )

    return opened


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv(path: Path) -> pd.DataFrame:
    """A table, separated and with decimals as its first lines are: spreadsheets write both 1.5, and 1,5;"""
    with path.open(encoding="utf-8-sig") as file:
        header, first = file.readline(), file.readline()
    separator = max(_SEPARATORS, key=header.count)
    names = next(csv.reader([header], delimiter=separator), [])
    if names and all(_is_number(name) for name in names):
        raise GreymatchError(
            f"the first line of {path.name!r} must name its columns; got {header.strip()[:80]!r}. "
            "Write a line of names above it."
        )
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise GreymatchError(f"every column needs its own name; {twice[0]!r} stands twice. Rename one of them.")
    decimal = "," if separator != "," and "," in first and "." not in first else "."
    table = pd.read_csv(path, sep=separator, decimal=decimal, low_memory=False, encoding="utf-8-sig")
    return table.loc[:, ~table.columns.str.startswith("Unnamed: ")]  # a row index that was saved along


def _parquet(path: Path) -> pd.DataFrame:
    import pyarrow

    table = pd.read_parquet(path, dtype_backend="pyarrow")  # columns stay as they are read, without a copy
    for _, column in table.items():
        if not pd.api.types.is_numeric_dtype(column.dtype):
            pyarrow.array(column).validate(full=True)  # text is first read where it is used
    return table


READERS: dict[str, Callable[[Path], Source]] = {
    ".nc": _netcdf,
    ".netcdf": _netcdf,
    ".h5": _netcdf,
    ".zarr": _zarr,
    ".npz": open_npz,
    ".csv": _csv,
    ".parquet": _parquet,
}

LAZY: dict[str, Callable[[Path], xr.Dataset]] = {
    ".zarr": _unread("zarr"),
    **dict.fromkeys((".nc", ".netcdf", ".h5"), _unread("h5netcdf")),
}
