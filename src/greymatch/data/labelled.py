"""Between xarray Datasets and `Trajectories`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
import xarray as xr

from greymatch.data.axes import Clock, check_finite, clock, floats, padded, plain, series
from greymatch.data.checks import check_observed
from greymatch.data.choosing import check_known, choose
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories

_INPUT_AXIS, _INPUT_CLOCK = "input_time", "input_times"


def from_dataset(
    dataset: xr.Dataset,
    states: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    trajectory: str = "trajectory",
    time: str = "time",
    input_kind: str | None = None,
) -> Trajectories:
    """Trajectories from variables over (trajectory, time, *grid); those over trajectory alone are its truth.

    With neither `states` nor `inputs`, inputs are those marked so by `to_dataset`, and states the rest.
    """
    dataset = _with_trajectories(dataset, trajectory)
    main = clock(dataset, trajectory, time)
    chosen, driving = choose(dataset, states, inputs, main.axis)
    grid = tuple(str(dim) for dim in dataset[chosen[0]].dims if dim not in (trajectory, main.axis))
    labels = plain(dataset[trajectory].values)
    values = floats(np.stack([series(dataset, name, trajectory, main.axis, grid) for name in chosen], axis=2))
    check_finite(values, chosen, labels)
    signals = _signals(dataset, driving, trajectory, main, input_kind)
    shares = bool(driving) and main.axis in dataset[driving[0]].dims
    times = _observed_times(main.times, values) if shares else main.times
    truth = _truth(dataset, [*chosen, *driving, time], trajectory)
    data = Trajectories(
        states=tuple(chosen),
        **padded(times, values),
        labels=labels,
        inputs=signals,
        grid=grid,
        grid_coords={dim: np.asarray(dataset[dim].values) for dim in grid if dim in dataset.coords},
        truth=truth,
        units=_units(dataset, time, [*chosen, *driving, *truth, *grid]),
        noise=(),
    )
    check_observed(data)
    return data


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
    dataset = xr.Dataset(variables | known, coords)
    dataset = dataset if data.inputs is None else dataset.assign(_input_arrays(data, data.inputs, times))
    for name in data.units.keys() & dataset.variables.keys():
        dataset[name].attrs["units"] = data.units[name]
    return dataset


def _with_trajectories(dataset: xr.Dataset, trajectory: str) -> xr.Dataset:
    """The dataset with a labelled trajectory axis: without one it is a single trajectory."""
    if trajectory not in dataset.dims:
        if trajectory != "trajectory" and trajectory not in dataset.coords:
            check_known("trajectory", [trajectory], dataset.dims)
        dataset = dataset.expand_dims(trajectory)
    if trajectory not in dataset.coords:
        dataset = dataset.assign_coords({trajectory: np.arange(dataset.sizes[trajectory])})
    return dataset


def _observed_times(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Times up to the last observation: on an axis shared with inputs, the rest is there for the inputs."""
    seen = np.asarray(np.isfinite(values).reshape(*times.shape, -1).any(axis=-1))
    count = times.shape[1] - seen[:, ::-1].argmax(1)
    kept = np.arange(times.shape[1]) < np.where(seen.any(axis=1), count, 0)[:, None]
    return np.where(kept, times, np.inf)


def _signals(
    dataset: xr.Dataset, inputs: Sequence[str], trajectory: str, main: Clock, kind: str | None
) -> Signals | None:
    """The inputs on the states' clock, or on one of their own; NaN is no sample."""
    if not inputs:
        return None
    axis = next((str(dim) for dim in dataset[inputs[0]].dims if dim != trajectory), main.axis)
    own = main if axis == main.axis else clock(dataset, trajectory, _own_clock(dataset, axis))
    values = np.stack([series(dataset, name, trajectory, axis) for name in inputs], axis=2).astype(np.float64)
    check_finite(values, inputs, plain(dataset[trajectory].values))
    kind = kind or str(dataset[inputs[0]].attrs.get("interpolation", "cubic"))
    return Signals(tuple(inputs), kind=kind, **padded(own.times, values))


def _own_clock(dataset: xr.Dataset, axis: str) -> str:
    return _INPUT_CLOCK if _INPUT_CLOCK in dataset.variables else axis


def _truth(dataset: xr.Dataset, taken: Sequence[str], trajectory: str) -> dict[str, np.ndarray]:
    """What is known of each trajectory, such as the parameters a simulator used."""
    return {
        str(name): plain(array.values)
        for name, array in dataset.data_vars.items()
        if array.dims == (trajectory,) and name not in taken
    }


def _units(dataset: xr.Dataset, time: str, names: Iterable[str]) -> dict[str, str]:
    """The units stated for the names kept; those of the time axis stand under "time"."""
    stated = {name: dataset[name].attrs.get("units") for name in (*names, time) if name in dataset.variables}
    return {"time" if name == time else name: str(unit) for name, unit in stated.items() if unit is not None}


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
    dims = ("trajectory", "time" if shared else _INPUT_AXIS)
    note = {"role": "input", "interpolation": signals.kind}
    when = {} if shared else {_INPUT_CLOCK: (dims, np.where(np.isfinite(own), own, np.nan))}
    return {
        name: xr.DataArray(values[:, :, i], when, dims, attrs={**note, "order": i})
        for i, name in enumerate(signals.names)
    }


def _ends_observed(data: Trajectories) -> torch.Tensor:
    """Whether any state is observed at the last time of each trajectory: see `_observed_times`."""
    ends = (torch.arange(len(data), device=data.times.device), data.lengths - 1)
    return data.mask[ends].flatten(1).any(1)
