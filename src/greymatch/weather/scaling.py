"""The units in which networks see the fields, from the training years alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from dask.base import compute
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and standard deviation of each field (C,) over time and the sphere, and of its change in one step.

    ```python
    scaling = Scaling.of(archive.split()["train"])
    seen = scaling.apply(chunk.values)                     # (..., C, lat, lon), of mean 0 and spread 1
    ```
    """

    names: tuple[str, ...]
    center: Tensor
    spread: Tensor
    change: Tensor

    @staticmethod
    def of(train: Archive) -> Scaling:
        """In one pass over the archive, weighted by area."""
        follows = np.flatnonzero(train.follows())
        if not len(follows):
            raise GreymatchError(f"{train.where} has no two states in a row, so that no change can be seen.")
        data = train.fields.astype(np.float64)
        weights = xr.DataArray(np.cos(np.deg2rad(data["lat"].values)), dims="lat")
        asked = [data, data**2, data.diff("time").isel(time=follows) ** 2]
        means = compute(*(one.weighted(weights).mean() for one in asked))
        center, square, change = (np.array([float(one[name]) for name in train.names]) for one in means)
        spread = np.sqrt(np.maximum(square - center**2, 0.0))
        _check_moves(train, spread, change)
        return Scaling(train.names, *(torch.as_tensor(x).float() for x in (center, spread, np.sqrt(change))))

    def apply(self, values: Tensor) -> Tensor:
        """Values (..., C, lat, lon) in units of their spread."""
        return (values - _shaped(self.center, values)) / _shaped(self.spread, values)

    def undo(self, seen: Tensor) -> Tensor:
        """The inverse of `apply`."""
        return seen * _shaped(self.spread, seen) + _shaped(self.center, seen)


def _shaped(numbers: Tensor, values: Tensor) -> Tensor:
    return numbers.to(values)[:, None, None]


def _check_moves(train: Archive, spread: np.ndarray, change: np.ndarray) -> None:
    still = [name for name, s, c in zip(train.names, spread, change, strict=True) if not (s > 0 and c > 0)]
    if still:
        raise GreymatchError(f"{train.where} has {still[0]} the same everywhere or always; it cannot be scaled.")
