"""`read`: trajectories from a file, a table or a Dataset."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd
import xarray as xr

from greymatch.data.labelled import from_dataset
from greymatch.data.tables import from_table
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean

T = TypeVar("T")
Source = xr.Dataset | pd.DataFrame


def read(
    source: Source | str | os.PathLike[str],
    states: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    trajectory: str = "trajectory",
    time: str = "time",
    input_kind: str | None = None,
) -> Trajectories:
    """Observations x_i(t_ij) from a file (.nc, .h5, .zarr, .csv, .parquet), a DataFrame or a Dataset.

    ```python
    data = gm.read("swings.parquet", trajectory="id", time="t")
    data = gm.read("circuit.csv", states=["voltage", "current"], inputs=["source"], input_kind="linear")
    data = gm.read(dataset, states=["angle"])
    ```

    A table has one row per trajectory and time; without a trajectory column it is one trajectory. A Dataset
    has variables over (trajectory, time, *grid), with times of one or two dimensions; variables over
    trajectory alone are kept as `truth`. NaN, or an empty cell, is a gap. By default all numbers are states.

    Rows at a trajectory's end that hold inputs but no state say what drives its future: they lengthen the
    inputs and not the trajectory. `input_kind` interpolates inputs ("linear", "cubic", ...); by default as
    the file says, else "cubic".

    Not for times given as dates (convert them to numbers first), nor for files larger than memory.
    """
    if isinstance(source, str | os.PathLike):
        source = _open(Path(source))
    if isinstance(source, pd.DataFrame):
        source = from_table(source, states, inputs, trajectory, time)
    if not isinstance(source, xr.Dataset):
        raise GreymatchError(f"`source` must be a path, DataFrame or Dataset; got {type(source).__name__}.")
    return from_dataset(source, states, inputs, trajectory, time, input_kind)


def by_suffix(path: Path, known: Mapping[str, T]) -> T:
    """What `known` has for the path's suffix."""
    suffix = path.suffix.lower()
    if suffix not in known:
        raise GreymatchError(
            f"a data file must end in {', '.join(known)}; got {path.name!r}.{did_you_mean(suffix, known)}"
        )
    return known[suffix]


def _open(path: Path) -> Source:
    reader = by_suffix(path, READERS)
    if not path.exists():
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise GreymatchError(f"no file {str(path)!r}.{did_you_mean(path.name, beside)}")
    try:
        return reader(path)
    except (OSError, ValueError) as error:
        raise GreymatchError(f"{str(path)!r} could not be read as {path.suffix.lower()}: {error}") from error


def _netcdf(path: Path) -> xr.Dataset:
    # seconds stay numbers, whatever unit a variable states
    with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as dataset:
        return dataset.load()


def _zarr(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="zarr", chunks=None, decode_timedelta=False) as dataset:
        return dataset.load()


def _csv(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, low_memory=False)
    return table.loc[:, ~table.columns.str.startswith("Unnamed: ")]  # a row index that was saved along


READERS: dict[str, Callable[[Path], Source]] = {
    ".nc": _netcdf,
    ".netcdf": _netcdf,
    ".h5": _netcdf,
    ".zarr": _zarr,
    ".csv": _csv,
    ".parquet": pd.read_parquet,
}
