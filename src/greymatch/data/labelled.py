"""From xarray Datasets to `Trajectories`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from greymatch.data.axes import Clock, check_finite, clock, floats, noted_epoch, padded, plain, series, side_by_side
from greymatch.data.choosing import check_known, choose
from greymatch.data.signals import Signals
from greymatch.data.to_labelled import INPUT_CLOCK
from greymatch.data.trajectories import Trajectories
from greymatch.data.units import all_units, said_units
from greymatch.errors import GreymatchError


@dataclass(frozen=True, eq=False)
class Layout:
    """A Dataset with the names of its axes, its clock, the units that the caller states, and whether it is ours."""

    dataset: xr.Dataset
    trajectory: str
    time: str
    clock: Clock
    units: dict[str, str]
    fresh: bool

    @property
    def labels(self) -> np.ndarray:
        return plain(self.dataset[self.trajectory].values)

    def stacked(self, names: Sequence[str], axis: str, grid: tuple[str, ...] = ()) -> np.ndarray:
        """The variables (trajectory, time, variable, *grid), finite or NaN."""
        arrays = [series(self.dataset, name, self.trajectory, axis, grid) for name in names]
        values = floats(side_by_side(arrays) if self.fresh else np.stack(arrays, axis=2))
        check_finite(values, names, self.labels)
        return values


def from_dataset(
    dataset: xr.Dataset,
    states: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    trajectory: str = "trajectory",
    time: str = "time",
    input_kind: str | None = None,
    units: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> Trajectories:
    """Trajectories from variables over (trajectory, time, *grid); those over trajectory alone are its truth.

    With neither `states` nor `inputs`, inputs are those marked so by `to_dataset`, and states the rest.
    Arrays that are `fresh` were made for this, and are not copied where that can be.
    Not checked: that every state is observed somewhere, which a part of the data need not be.
    """
    layout = _layout(dataset, trajectory, time, said_units(units, time), fresh)
    chosen, driving = choose(layout.dataset, states, inputs, layout.clock.axis)
    return _assembled(layout, chosen, driving, input_kind)


def _layout(dataset: xr.Dataset, trajectory: str, time: str, units: dict[str, str], fresh: bool) -> Layout:
    if "draw" in dataset.dims:
        raise GreymatchError(
            "recordings must be over (trajectory, time, *grid); these have an axis 'draw', as forecasts do. "
            "Read a forecast with `gm.Forecast.read(path)`."
        )
    dataset = dataset.set_coords([name for name in (trajectory, time) if name in dataset.data_vars])
    dataset = _with_trajectories(dataset, trajectory)
    return Layout(dataset, trajectory, time, clock(dataset, trajectory, time, units.get("time")), units, fresh)


def _assembled(layout: Layout, states: Sequence[str], inputs: Sequence[str], input_kind: str | None) -> Trajectories:
    dataset, main = layout.dataset, layout.clock
    grid = tuple(str(dim) for dim in dataset[states[0]].dims if dim not in (layout.trajectory, main.axis))
    values = layout.stacked(states, main.axis, grid)
    shares = bool(inputs) and main.axis in dataset[inputs[0]].dims
    truth = _truth(dataset, [*states, *inputs, layout.time], layout.trajectory)
    units = all_units(dataset, layout.time, [*states, *inputs, *truth, *grid], layout.units)
    return Trajectories(
        states=tuple(states),
        **padded(_observed_times(main.times, values) if shares else main.times, values, layout.fresh),
        labels=layout.labels,
        inputs=_signals(layout, inputs, input_kind) if inputs else None,
        grid=grid,
        grid_coords={dim: np.asarray(dataset[dim].values) for dim in grid if dim in dataset.coords},
        truth=truth,
        units=units,
        epoch=noted_epoch(dataset, layout.trajectory, main, units.get("time")),
    )


def _with_trajectories(dataset: xr.Dataset, trajectory: str) -> xr.Dataset:
    """The dataset with a labelled trajectory axis: without one it is a single trajectory."""
    if trajectory not in dataset.dims:
        if trajectory != "trajectory" and trajectory not in dataset.coords:
            check_known("trajectory", [trajectory], dataset.dims)
        if not dataset.data_vars:
            raise GreymatchError(
                f"the data must hold variables; they have only {[str(name) for name in dataset.coords]}. "
                "Is it the right file?"
            )
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


def _signals(layout: Layout, inputs: Sequence[str], kind: str | None) -> Signals:
    """The inputs on the states' clock, or on one of their own; NaN is no sample."""
    dataset, main = layout.dataset, layout.clock
    first = dataset[inputs[0]]
    axis = next((str(dim) for dim in first.dims if dim != layout.trajectory), main.axis)
    own = main if axis == main.axis else _own_clock(layout, axis)
    values = layout.stacked(inputs, axis).astype(np.float64, copy=False)
    kind = kind or str(first.attrs.get("interpolation", "cubic"))
    return Signals(tuple(inputs), kind=kind, **padded(own.times, values))


def _own_clock(layout: Layout, axis: str) -> Clock:
    name = INPUT_CLOCK if INPUT_CLOCK in layout.dataset.variables else axis
    return clock(layout.dataset, layout.trajectory, name, layout.units.get("time"), layout.clock.epoch)


def _truth(dataset: xr.Dataset, taken: Sequence[str], trajectory: str) -> dict[str, np.ndarray]:
    """What is known of each trajectory, such as the parameters a simulator used."""
    return {
        str(name): plain(array.values)
        for name, array in dataset.data_vars.items()
        if array.dims == (trajectory,) and name not in taken
    }
