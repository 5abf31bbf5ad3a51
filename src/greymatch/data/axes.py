"""The time axes and variables of a Dataset, checked as they are taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from greymatch.data.checks import shown
from greymatch.errors import GreymatchError


@dataclass(frozen=True, eq=False)
class Clock:
    """A time axis: the dimension it runs along, and the times (N, T) on it, inf after a trajectory's end."""

    axis: str
    times: np.ndarray


def clock(dataset: xr.Dataset, trajectory: str, time: str) -> Clock:
    """The clock in variable `time`: one that all trajectories share (1-D), or one of each (2-D)."""
    if time not in dataset.variables:
        raise GreymatchError(f"the data have no {time!r} coordinate; add one, in the units of your physics.")
    array = dataset[time]
    axes = [str(dim) for dim in array.dims if dim != trajectory]
    if len(axes) != 1:
        raise GreymatchError(f"{time!r} must run along one axis besides {trajectory!r}; its axes are {array.dims}.")
    check_clock_type(time, array.dtype)
    if trajectory not in array.dims:
        array = array.expand_dims({trajectory: dataset.sizes[trajectory]})
    times = array.transpose(trajectory, axes[0]).values.astype(np.float64)
    return Clock(axes[0], np.where(np.isnan(times), np.inf, times))


def check_clock_type(time: str, dtype: object) -> None:
    if getattr(dtype, "kind", "O") not in "fiu":
        raise GreymatchError(
            f"times must be numbers in the units of the physics; {time!r} holds {dtype}. "
            "Convert them, for example `(t - t[0]) / numpy.timedelta64(1, 's')` for seconds since the start."
        )


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


def plain(values: np.ndarray) -> np.ndarray:
    """Texts as NumPy's fixed-width strings, whichever way the file held them; numbers as they are."""
    values = np.asarray(values)
    return values.astype(str) if values.dtype.kind in "OT" else values


def floats(values: np.ndarray) -> np.ndarray:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def check_finite(values: np.ndarray, names: Sequence[str], labels: np.ndarray) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row, at, which = (int(i) for i in np.argwhere(infinite)[0][:3])
        raise GreymatchError(
            f"values must be finite, or NaN for a gap; {names[which]!r} is infinite in trajectory "
            f"{shown(labels, row)} (point {at}). Drop what diverged, or make it NaN."
        )


def padded(times: np.ndarray, values: np.ndarray) -> dict[str, torch.Tensor]:
    """Times, values and mask as long as the longest trajectory, with nothing observed after an end."""
    longest = max(1, int(np.isfinite(times).sum(1).max(initial=0)))
    # times that are not padded at the end only are kept whole, for `Trajectories` to refuse
    longest = longest if not np.isfinite(times[:, longest:]).any() else times.shape[1]
    times, values = times[:, :longest], values[:, :longest]
    seen = np.isfinite(values) & np.isfinite(times).reshape(*times.shape, *(1,) * (values.ndim - 2))
    filled = np.where(seen, values, 0).astype(values.dtype)
    return {"times": torch.tensor(times), "values": torch.as_tensor(filled), "mask": torch.as_tensor(seen)}
