"""Profiles over the grid, as a model has found them: where the missing part of a field is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.models.dynamics import Dynamics

HALF = 0.5  # of the largest value


def profiles_of(dynamics: Dynamics, data: Trajectories) -> dict[str, xr.DataArray]:
    """By what terms call them, with the coordinates of `data`; where it has none, cells are counted from 0."""
    words = [curve.words for curve in dynamics.curves if curve.placed]
    axes = dynamics.physics.grid
    sizes = dict(zip(axes, data.values.shape[3:], strict=True))
    coords = {axis: data.grid_coords.get(axis, np.arange(size)) for axis, size in sizes.items()}
    return {
        name: xr.DataArray(values.detach().double().cpu().numpy(), coords, axes, name)
        for name, values in zip(words, dynamics.profiles if words else (), strict=True)
    }


def spoken(profile: xr.DataArray) -> str:
    """Where it is largest, and how much of the grid has at least half of that."""
    size = np.abs(profile.values)
    where = np.unravel_index(int(size.argmax()), size.shape)
    place = ", ".join(
        f"{axis} = {_plain(profile[axis].values[i])}" for axis, i in zip(profile.dims, where, strict=True)
    )
    share = float((size >= HALF * size.max()).mean())
    return f"{float(profile.values[where]):.3g} at {place}, at least half of that on {100 * share:.0f} % of the grid"


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else str(value)
