"""`read`: trajectories from a file, a folder of files, a table or a Dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import xarray as xr

from greymatch.data.checks import check_observed
from greymatch.data.folder import read_folder, recordings
from greymatch.data.labelled import from_dataset
from greymatch.data.naming import Inputs, States, Wanted, rename_variables
from greymatch.data.openers import Source, open_file
from greymatch.data.tables import from_table
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError


def read(
    source: Source | str | os.PathLike[str],
    states: States | None = None,
    inputs: Inputs = (),
    trajectory: str = "trajectory",
    time: str = "time",
    input_kind: str | None = None,
    units: Mapping[str, str] | None = None,
) -> Trajectories:
    """Observations x_i(t_ij) from a file (.nc, .h5, .zarr, .npz, .csv, .parquet), a DataFrame or a Dataset.

    ```python
    data = gm.read("swings.parquet", trajectory="id", time="t")
    data = gm.read("circuit.csv", states=["voltage", "current"], inputs=["source"], input_kind="hold")
    data = gm.read("bench.csv", states={"angle": "theta_deg"}, time="stamp", units={"time": "s", "angle": "deg"})
    data = gm.read("runs/*.csv", inputs={"drive": np.sin})        # one recording per file, named by its file
    ```

    A table has one row per trajectory and time; without a trajectory column it is one trajectory. A Dataset
    has variables over (trajectory, time, *grid), with times of one or two dimensions; variables over
    trajectory alone are kept as `truth`. NaN, or an empty cell, is a gap. By default all numbers are states.

    `states` and `inputs` may rename, {new: column}; an input may be a function u(t) of an array of times. `units`
    are kept, and shown on axes; dates are counted in that of "time", since the start of each trajectory.

    Rows at a trajectory's end that hold inputs but no state say what drives its future: they lengthen the
    inputs and not the trajectory. `input_kind` interpolates inputs ("hold", "linear", "cubic", ...); by default
    as the file says, else "cubic".

    Not for files larger than memory.
    """
    asked = _Asked(Wanted.of(states, inputs), trajectory, time, input_kind, units)
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
        fresh = isinstance(source, pd.DataFrame)
        if isinstance(source, pd.DataFrame):
            source = from_table(source, self.wanted, self.trajectory, self.time)
        elif isinstance(source, xr.Dataset):
            source = rename_variables(source, self.wanted)
        else:
            raise GreymatchError(f"`source` must be a path, DataFrame or Dataset; got {type(source).__name__}.")
        names = (self.wanted.states, self.wanted.inputs)
        data = from_dataset(source, *names, self.trajectory, self.time, self.input_kind, self.units, fresh)
        return data.with_inputs(self.wanted.functions) if self.wanted.functions else data
