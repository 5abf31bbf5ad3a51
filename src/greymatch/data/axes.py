"""The time axes and variables of a Dataset, checked as they are taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import torch
import xarray as xr

from greymatch.data.checks import all_finite, shown
from greymatch.data.dates import counted, epoch_of
from greymatch.errors import GreymatchError, did_you_mean


@dataclass(frozen=True, eq=False)
class Clock:
    """A time axis: the dimension it runs along, and the times (N, T) on it, inf after a trajectory's end.

    `epoch` (N,) is the date of time zero, where the times are dates.
    """

    axis: str
    times: np.ndarray
    epoch: np.ndarray | None = None


def clock(
    dataset: xr.Dataset, trajectory: str, time: str, unit: str | None = None, epoch: np.ndarray | None = None
) -> Clock:
    """The clock in variable `time`: one that all trajectories share (1-D), or one of each (2-D).

    Dates are counted in `unit` since `epoch`, by default each trajectory's first.
    """
    if time not in dataset.variables:
        known = [str(name) for name in dataset.variables]
        raise GreymatchError(
            f"the data have no {time!r} coordinate; they have {known}. "
            f"Name their time axis in `time`.{did_you_mean(time, known)}"
        )
    array = dataset[time]
    axes = [str(dim) for dim in array.dims if dim != trajectory]
    if len(axes) != 1:
        raise GreymatchError(f"{time!r} must run along one axis besides {trajectory!r}; its axes are {array.dims}.")
    if array.dtype.kind not in "fiumM":
        raise GreymatchError(
            f"times must be numbers in the units of the physics, or dates; {time!r} holds {array.dtype}. Convert them."
        )
    if trajectory not in array.dims:
        array = array.expand_dims({trajectory: dataset.sizes[trajectory]})
    times = array.transpose(trajectory, axes[0]).values
    if times.dtype.kind in "mM":
        times, epoch = counted(times, unit, epoch)
    times = times.astype(np.float64, copy=False)
    return Clock(axes[0], times if all_finite(times) else np.where(np.isnan(times), np.inf, times), epoch)


def noted_epoch(dataset: xr.Dataset, trajectory: str, main: Clock, unit: str | None) -> np.ndarray | None:
    """The date of time zero (N,), of times that are dates, or of numbers that `to_dataset` put dates beside."""
    dates = [array for array in dataset.coords.values() if array.attrs.get("role") == "date"]
    if main.epoch is not None or not dates:
        return main.epoch
    return epoch_of(dates[0].transpose(trajectory, ...).values[:, 0], main.times[:, 0], unit)


def series(dataset: xr.Dataset, name: str, trajectory: str, axis: str, grid: tuple[str, ...] = ()) -> np.ndarray:
    """The variable as numbers (trajectory, time, *grid)."""
    array = dataset[name]
    if array.dtype.kind not in "fiub":
        raise GreymatchError(f"{name!r} must hold numbers; got {array.dtype}.")
    if trajectory not in array.dims:
        array = array.expand_dims({trajectory: dataset.sizes[trajectory]})
    if set(array.dims) != {trajectory, axis, *grid}:
        raise GreymatchError(
            f"{name!r} must have the axes {[trajectory, axis, *grid]}; its axes are {list(array.dims)}. "
            "States share one grid, inputs have none."
        )
    return array.transpose(trajectory, axis, *grid).values


def side_by_side(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (N, T) as (N, T, S), without a copy where they are the columns of one table, all of them and in order."""
    first, step = arrays[0], arrays[0].itemsize
    start = first.__array_interface__["data"][0]
    for index, array in enumerate(arrays):
        alike = (array.dtype, array.shape, array.strides) == (first.dtype, first.shape, first.strides)
        if not alike or array.__array_interface__["data"][0] != start + step * index:
            return np.stack(arrays, axis=2)
    if first.ndim != 2 or first.strides[1] != step * len(arrays):
        return np.stack(arrays, axis=2)
    return np.lib.stride_tricks.as_strided(first, (*first.shape, len(arrays)), (*first.strides, step))


def plain(values: np.ndarray) -> np.ndarray:
    """Texts as NumPy's fixed-width strings, whichever way the file held them; numbers as they are."""
    values = np.asarray(values)
    return values.astype(str) if values.dtype.kind in "OT" else values


def floats(values: np.ndarray) -> np.ndarray:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def check_finite(values: np.ndarray, names: Sequence[str], labels: np.ndarray) -> None:
    if all_finite(values):
        return
    infinite = np.isinf(values)
    if infinite.any():
        row, at, which = (int(i) for i in np.argwhere(infinite)[0][:3])
        raise GreymatchError(
            f"values must be finite, or NaN for a gap; {names[which]!r} is infinite in trajectory "
            f"{shown(labels, row)} (point {at}). Drop what diverged, or make it NaN."
        )


class Padded(TypedDict):
    times: torch.Tensor
    values: torch.Tensor
    mask: torch.Tensor


def padded(times: np.ndarray, values: np.ndarray, fresh: bool = False) -> Padded:
    """Times, values and mask as long as the longest trajectory, with nothing observed after an end.

    The values are taken as they are; so are times that are `fresh`.
    """
    times = times if fresh else times.copy()
    if all_finite(times) and all_finite(values):
        mask = torch.ones(values.shape, dtype=torch.bool)
        return {"times": torch.as_tensor(times), "values": torch.as_tensor(values), "mask": mask}
    known = np.isfinite(times)
    longest = max(1, int(known.sum(1).max(initial=0)))
    # times that are not padded at the end only are kept whole, for `Trajectories` to refuse
    longest = longest if not known[:, longest:].any() else times.shape[1]
    times, values, known = times[:, :longest], values[:, :longest], known[:, :longest]
    seen = np.isfinite(values) & known.reshape(*times.shape, *(1,) * (values.ndim - 2))
    filled = np.where(seen, values, 0).astype(values.dtype)
    return {"times": torch.as_tensor(times), "values": torch.as_tensor(filled), "mask": torch.as_tensor(seen)}
