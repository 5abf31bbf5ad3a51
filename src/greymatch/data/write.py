"""`write`: trajectories and results to a file, whole or not at all."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import xarray as xr

from greymatch.data.naming import NOTES, header
from greymatch.data.npz import write_npz
from greymatch.data.openers import by_suffix
from greymatch.data.tabulate import to_table, truth_names
from greymatch.errors import GreymatchError


class Labelled(Protocol):
    """Whatever turns into a Dataset: `Trajectories`, a forecast."""

    def to_dataset(self) -> xr.Dataset: ...


def write(data: Labelled, path: str | os.PathLike[str]) -> Path:
    """Write to .nc, .netcdf, .h5, .zarr or .npz as a Dataset, or to .csv or .parquet as a long table.

    ```python
    path = gm.write(data, "swings.nc")
    assert len(gm.read(path)) == len(data)
    ```

    Forecasts are read with `gm.Forecast.read(path)`. An old file is replaced only once the new one is complete.
    Not .csv if truth or how inputs are interpolated must come back. Not tables for fields on a grid.
    """
    if not hasattr(data, "to_dataset"):
        raise GreymatchError(f"`data` must be Trajectories or a Forecast; got {type(data).__name__}.")
    path = Path(path)
    writer = by_suffix(path, WRITERS)
    if not path.parent.is_dir():
        raise GreymatchError(f"`path` must lie in a folder that exists; got {str(path)!r}. Make it first.")
    grid = getattr(data, "grid", ())
    if grid and writer in (_csv, _parquet):
        raise GreymatchError(f"a table cannot hold fields on a grid {list(grid)}; write .nc or .zarr instead.")
    partial = path.with_name(f".{path.name}.{uuid4().hex[:8]}.partial")
    try:
        writer(data.to_dataset(), partial)
        _replace(partial, path)
    except OSError as error:
        raise GreymatchError(
            f"cannot write {str(path)!r}: {error.strerror or error}. The old file, if any, stands. "
            "Free some space, or choose another folder."
        ) from error
    finally:
        _remove(partial)
    return path


def _replace(partial: Path, path: Path) -> None:
    """Put the new in place of the old; a folder cannot be replaced in one step, so the old steps aside."""
    if not path.is_dir():
        partial.replace(path)
        return
    names = {entry.name for entry in path.iterdir()}
    if names and not names & {"zarr.json", ".zgroup", ".zmetadata"}:
        raise GreymatchError(f"{str(path)!r} is a folder of something else than zarr; choose another name.")
    aside = partial.with_suffix(".old")
    path.replace(aside)
    partial.replace(path)
    shutil.rmtree(aside)


def _remove(partial: Path) -> None:
    with suppress(OSError):  # in a folder that cannot be written to, there is nothing of ours
        if partial.is_dir():
            shutil.rmtree(partial)
        else:
            partial.unlink(missing_ok=True)


def _netcdf(dataset: xr.Dataset, path: Path) -> None:
    dataset.to_netcdf(path, engine="h5netcdf")


def _zarr(dataset: xr.Dataset, path: Path) -> None:
    # format 2 has a specification for texts; format 3 warns of them
    dataset.to_zarr(path, zarr_format=2, consolidated=True)


def _csv(dataset: xr.Dataset, path: Path) -> None:
    lost = truth_names(dataset)
    if lost:
        warnings.warn(f".csv holds no truth: {lost} left out. Write .nc, .zarr or .parquet.", stacklevel=3)
    table = to_table(dataset.drop_vars(lost))
    notes = table.attrs[NOTES]
    table.rename(columns=lambda name: header(name, notes.get(name, {}).get("units"))).to_csv(path, index=False)


def _parquet(dataset: xr.Dataset, path: Path) -> None:
    to_table(dataset).to_parquet(path, index=False)


WRITERS: dict[str, Callable[[xr.Dataset, Path], None]] = {
    ".nc": _netcdf,
    ".netcdf": _netcdf,
    ".h5": _netcdf,
    ".zarr": _zarr,
    ".npz": write_npz,
    ".csv": _csv,
    ".parquet": _parquet,
}
