"""The units in which networks see the fields, from the training years alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.weights import by_area

_TOGETHER = 64  # states read at once


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and standard deviation of each field (C,) over time and the sphere, and of its change in one step.

    `low` and `high` (C, lat) are the least and the most that each row has seen.

    ```python
    scaling = Scaling.of(archive.split()["train"])
    seen = scaling.apply(chunk.values)                     # (..., C, lat, lon), of mean 0 and spread 1
    ```
    """

    names: tuple[str, ...]
    center: Tensor
    spread: Tensor
    change: Tensor
    low: Tensor
    high: Tensor

    @staticmethod
    def of(train: Archive) -> Scaling:
        """In one pass over the archive, weighted by area."""
        follows = np.concatenate([[False], train.follows()])
        if not follows.any():
            raise GreymatchError(f"{train.where} has no two states in a row, so that no change can be seen.")
        sums, low, high = _sums(train, follows)
        points = train.fields.sizes["lat"] * train.fields.sizes["lon"]
        center, square = sums[:2] / (len(train) * points)
        change = sums[2] / (follows.sum() * points)
        spread = np.sqrt(np.maximum(square - center**2, 0.0))
        _check_moves(train, spread, change)
        found = (center, spread, np.sqrt(change), low, high)
        return Scaling(train.names, *(torch.as_tensor(x).float() for x in found))

    def apply(self, values: Tensor) -> Tensor:
        """Values (..., C, lat, lon) in units of their spread."""
        return (values - _shaped(self.center, values)) / _shaped(self.spread, values)

    def undo(self, seen: Tensor) -> Tensor:
        """The inverse of `apply`."""
        return seen * _shaped(self.spread, seen) + _shaped(self.center, seen)


def _sums(train: Archive, follows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of values, their squares, and the squares of changes to states that follow another, (3, C), by area; and the
    least and the most (C, lat) of each row."""
    weights = by_area(train.fields["lat"].values)
    sums, before = np.zeros((3, len(train.names))), None
    low = np.full((len(train.names), len(weights)), np.inf)
    high = -low
    for first in range(0, len(train), _TOGETHER):
        rows = slice(first, first + _TOGETHER)
        maps = train.maps(train.times[rows]).astype(np.float64)
        change = np.diff(maps, axis=0, prepend=maps[:1] if before is None else before)[follows[rows]]
        sums += [np.einsum("tchw,h->c", part, weights) for part in (maps, maps**2, change**2)]
        low, high = np.minimum(low, maps.min((0, 3))), np.maximum(high, maps.max((0, 3)))
        before = maps[-1:]
    return sums, low, high


def _shaped(numbers: Tensor, values: Tensor) -> Tensor:
    return numbers.to(values)[:, None, None]


def _check_moves(train: Archive, spread: np.ndarray, change: np.ndarray) -> None:
    still = [name for name, s, c in zip(train.names, spread, change, strict=True) if not (s > 0 and c > 0)]
    if still:
        raise GreymatchError(f"{train.where} has {still[0]} the same everywhere or always; it cannot be scaled.")
