"""`read`: trajectories from a file, a folder of files, a table or a Dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

import pandas as pd
import xarray as xr

from greymatch.data.checks import check_observed
from greymatch.data.folder import read_folder, recordings
from greymatch.data.labelled import from_dataset
from greymatch.data.naming import Inputs, States, Wanted, rename_variables
from greymatch.data.openers import Source, open_file, open_store
from greymatch.data.store import Store
from greymatch.data.tables import from_table
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError

_WAY_OUT = "Make a table of it: pandas.DataFrame({...}), or array.to_dataset(name=...) of a DataArray."


@overload
def read(
    source: Source | str | os.PathLike[str],
    states: States | None = None,
    inputs: Inputs = (),
    trajectory: str = "trajectory",
    time: str = "time",
    input_kind: str | None = None,
    units: Mapping[str, str] | None = None,
    *,
    lazy: Literal[False] = False,
) -> Trajectories: ...


@overload
def read(
    source: Source | str | os.PathLike[str],
    states: States | None = None,
    inputs: Inputs = (),
    trajectory: str = "trajectory",
    time: str = "time",
    input_kind: str | None = None,
    units: Mapping[str, str] | None = None,
    *,
    lazy: bool,
) -> Trajectories | Store: ...


def read(
    source: Source | str | os.PathLike[str],
    states: States | None = None,
    inputs: Inputs = (),
    trajectory: str = "trajectory",
    time: str = "time",
    input_kind: str | None = None,
    units: Mapping[str, str] | None = None,
    *,
    lazy: bool = False,
) -> Trajectories | Store:
    """Observations x_i(t_ij) from a file (.nc, .h5, .zarr, .npz, .csv, .parquet), a DataFrame or a Dataset.

    ```python
    data = gm.read("swings.parquet", trajectory="id", time="t")
    data = gm.read("circuit.csv", states=["voltage", "current"], inputs=["source"], input_kind="hold")
    data = gm.read("bench.csv", states={"angle": "theta_deg"}, time="stamp", units={"time": "s", "angle": "deg"})
    data = gm.read("runs/*.csv", inputs={"drive": np.sin})        # one recording per file, named by its file
    store = gm.read("large.zarr", lazy=True)                      # left on disk
    ```

    A table has one row per trajectory and time; without a trajectory column it is one trajectory. A Dataset
    has variables over (trajectory, time, *grid), with times of one or two dimensions; variables over
    trajectory alone are kept as `truth`. NaN, or an empty cell, is a gap. By default all numbers are states.

    `states` and `inputs` may rename, {new: column}; an input may be a function u(t) of an array of times. `units`
    are kept, and shown on axes; dates are counted in that of "time", since the start of each trajectory.

    Rows at a trajectory's end that hold inputs but no state say what drives its future: they lengthen the
    inputs and not the trajectory. `input_kind` interpolates inputs ("hold", "linear", "cubic", ...); by default
    as the file says, else "cubic".

    `lazy=True` leaves a Zarr or NetCDF store, or a Dataset, on disk and gives a `Store` to fit, read in parts; all else
    must fit into memory.
    """
    for argument, name in (("trajectory", trajectory), ("time", time)):
        if not isinstance(name, str):
            raise GreymatchError(f"`{argument}` must be the name of a column or axis; got {name!r}.")
    if trajectory == time:
        raise GreymatchError(
            f"`trajectory` and `time` must name two columns; got {time!r} for both. Of one recording, say `time` alone."
        )
    asked = _Asked(Wanted.of(states, inputs), trajectory, time, input_kind, units)
    if lazy:
        return asked.store(source)
    if not isinstance(source, str | os.PathLike):
        return check_observed(asked.taken_from(source))
    files = recordings(Path(source))
    if files is None:
        return check_observed(asked.taken_from(open_file(Path(source))))
    return check_observed(read_folder(files, lambda file: asked.taken_from(open_file(file))))


@dataclass(frozen=True)
class _Asked:
    """What `read` was asked for, to be taken from one source or from each of many."""

    wanted: Wanted
    trajectory: str
    time: str
    input_kind: str | None
    units: Mapping[str, str] | None

    def taken_from(self, source: Source) -> Trajectories:
        if isinstance(source, pd.DataFrame):
            return self._taken(from_table(source, self.wanted, self.trajectory, self.time), fresh=True)
        if isinstance(source, xr.Dataset):
            return self._taken(rename_variables(source, self.wanted))
        raise GreymatchError(f"`source` must be a path, DataFrame or Dataset; got {type(source).__name__}. {_WAY_OUT}")

    def store(self, source: Source | str | os.PathLike[str]) -> Store:
        dataset = open_store(Path(source)) if isinstance(source, str | os.PathLike) else source
        if not isinstance(dataset, xr.Dataset):
            raise GreymatchError(f"`lazy` needs a Zarr or NetCDF store or a Dataset; got a {type(source).__name__}.")
        return Store(rename_variables(dataset, self.wanted), self.trajectory, self.time, self._taken)

    def _taken(self, dataset: xr.Dataset, fresh: bool = False) -> Trajectories:
        names = (self.wanted.states, self.wanted.inputs)
        data = from_dataset(dataset, *names, self.trajectory, self.time, self.input_kind, self.units, fresh)
        return data.with_inputs(self.wanted.functions) if self.wanted.functions else data
