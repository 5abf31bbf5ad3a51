"""From one rule for one set of points to the path of every trajectory, state and pixel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.gaps import sound
from greymatch.matching.path import Path

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Expansion(Protocol):
    """The Taylor coefficients (about, power, channel) of the curve through `samples` (knot, channel).

    `about` are times within the knots; the expansion at each must hold up to the next knot. There are at
    least two knots; with too few for the full degree, fewer powers are returned.
    """

    def __call__(self, knots: Floats, samples: Floats, about: Floats) -> Floats: ...


def piecewise(
    times: Tensor, values: Tensor, mask: Tensor, expand: Expansion, degree: int, max_gap: float | None
) -> Path:
    """Fit every channel on its own observed points; beyond them it is held, and not trusted."""
    if times.shape[1] < 2:
        raise GreymatchError(f"`times` must hold at least two times to interpolate; got {times.shape[1]}.")
    times = times.to("cpu", torch.float64)
    mask = mask.cpu()
    rows, length, states, *grid = values.shape
    data = values.to("cpu", torch.float64).reshape(rows, length, -1).numpy()
    fits = _Fits(times.numpy(), data, mask.reshape(rows, length, -1).numpy(), degree)
    for members in same_pattern(fits.times, fits.mask):
        fits.fit(*members, expand)
    coefficients = torch.from_numpy(fits.coefficients)
    degrees = torch.from_numpy(fits.degrees).reshape(rows, states, -1).amin(-1)
    shape = (rows, length - 1, degree + 1, states, *grid)
    return Path(times, coefficients.reshape(shape), sound(times, mask, max_gap), degrees)


class _Fits:
    """Coefficients (row, interval, power, channel) and degrees (row, channel), filled group by group."""

    def __init__(self, times: Floats, data: Floats, mask: NDArray[np.bool_], degree: int) -> None:
        rows, length, channels = data.shape
        self.times, self.data, self.mask = times, data, mask
        self.coefficients = np.zeros((rows, length - 1, degree + 1, channels))
        self.degrees = np.zeros((rows, channels), dtype=np.int8)

    def fit(self, rows: Indices, channels: Indices, expand: Expansion) -> None:
        """Fit channels that share their times and gaps, in one call."""
        clock = self.times[rows[0]]
        seen = np.flatnonzero(self.mask[rows[0], :, channels[0]])
        if seen.size == 0:
            return
        samples = self.data[rows, seen[:, None], channels]
        self._hold(rows, channels, slice(0, seen[0]), samples[0])
        self._hold(rows, channels, slice(seen[-1], np.isfinite(clock).sum() - 1), samples[-1])
        if seen.size > 1:
            self._expand(rows, channels, seen, samples, expand)

    def _hold(self, rows: Indices, channels: Indices, intervals: slice, value: Floats) -> None:
        self.coefficients[rows, intervals, 0, channels] = value[:, None]

    def _expand(self, rows: Indices, channels: Indices, seen: Indices, samples: Floats, expand: Expansion) -> None:
        clock = self.times[rows[0]]
        within = np.arange(seen[0], seen[-1])
        taylor = expand(clock[seen], samples, clock[within])
        powers = np.arange(taylor.shape[1])
        self.coefficients[rows, within[:, None, None], powers[:, None], channels] = taylor
        self.degrees[rows, channels] = taylor.shape[1] - 1


def same_pattern(times: Floats, mask: NDArray[np.bool_]) -> Iterator[tuple[Indices, Indices]]:
    """The (rows, channels) that share their times and gaps, one pair of index arrays for each pattern."""
    rows, _, channels = mask.shape
    gaps = np.packbits(mask, axis=1).swapaxes(1, 2)
    clock = _label(times).astype(np.int64)[:, None].view(np.uint8)
    clocks = np.broadcast_to(clock[:, None], (rows, channels, clock.shape[1]))
    label = _label(np.concatenate([clocks, gaps], axis=2).reshape(rows * channels, -1))
    for members in np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1]):
        yield np.divmod(members, channels)


def _label(table: NDArray[np.generic]) -> Indices:
    """The same number for rows that are equal byte by byte."""
    table = np.ascontiguousarray(table)
    whole = table.view(np.dtype((np.void, table.shape[1] * table.itemsize))).ravel()
    return np.unique(whole, return_inverse=True)[1]
