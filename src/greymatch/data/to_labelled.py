"""From `Trajectories` to xarray Datasets."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from greymatch.data.dates import dated
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories

INPUT_AXIS, INPUT_CLOCK = "input_time", "input_times"


def to_dataset(data: Trajectories) -> xr.Dataset:
    """Variables over (trajectory, time, *grid), gaps as NaN; one time axis when all trajectories share it."""
    longest = int(data.lengths.max())
    values = data.values.masked_fill(~data.mask, torch.nan)[:, :longest].cpu().numpy()
    times = data.times[:, :longest].cpu().numpy()
    dims = ("trajectory", "time", *data.grid)
    variables = {name: (dims, values[:, :, i], {"order": i}) for i, name in enumerate(data.states)}
    known = {name: (("trajectory",), value) for name, value in data.truth.items()}
    coords = {"trajectory": (("trajectory",), data.labels), "time": _time_coordinate(times)}
    coords |= {name: ((name,), value) for name, value in data.grid_coords.items()}
    if data.epoch is not None:
        coords["date"] = (dims[:2], dated(data.epoch, times, data.units.get("time")), {"role": "date"})
    dataset = xr.Dataset(variables | known, coords)
    dataset = dataset if data.inputs is None else dataset.assign(_input_arrays(data, data.inputs, times))
    for name in data.units.keys() & dataset.variables.keys():
        dataset[name].attrs["units"] = data.units[name]
    return dataset


def _time_coordinate(times: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    if bool((times == times[0]).all()):
        return ("time",), times[0]
    return ("trajectory", "time"), np.where(np.isfinite(times), times, np.nan)


def _input_arrays(data: Trajectories, signals: Signals, times: np.ndarray) -> dict[str, xr.DataArray]:
    """Inputs on the states' time axis when they are sampled there, else on an axis of their own."""
    longest = int(signals.times.isfinite().sum(1).max())
    own = signals.times[:, :longest].cpu().numpy()
    values = signals.values.masked_fill(~signals.seen, torch.nan)[:, :longest].cpu().numpy()
    shared = np.array_equal(own, times) and bool(_ends_observed(data).all())
    dims = ("trajectory", "time" if shared else INPUT_AXIS)
    note = {"role": "input", "interpolation": signals.kind}
    when = {} if shared else {INPUT_CLOCK: (dims, np.where(np.isfinite(own), own, np.nan))}
    return {
        name: xr.DataArray(values[:, :, i], when, dims, attrs={**note, "order": i})
        for i, name in enumerate(signals.names)
    }


def _ends_observed(data: Trajectories) -> torch.Tensor:
    """Whether any state is observed at the last time of each trajectory: see `_observed_times`."""
    ends = (torch.arange(len(data), device=data.times.device), data.lengths - 1)
    return data.mask[ends].flatten(1).any(1)
