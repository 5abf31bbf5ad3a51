"""Long recordings as several shorter ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories

LEAST = 2
BEYOND = 8  # samples of each input beyond both ends: what runs between samples hardly depends on farther ones


@dataclass(frozen=True)
class Pieces:
    """The recording each piece is of (P,), its number in it from 0 on, and where it begins and ends (P,)."""

    rows: Tensor
    number: Tensor
    first: Tensor
    end: Tensor

    @staticmethod
    def of(lengths: Tensor, points: int) -> Pieces:
        counts = (lengths // points).clamp_min(1)
        rows = torch.arange(len(lengths), device=lengths.device).repeat_interleave(counts)
        number = torch.arange(len(rows), device=lengths.device) - (counts.cumsum(0) - counts)[rows]
        first = number * points
        return Pieces(rows, number, first, torch.where(number == counts[rows] - 1, lengths[rows], first + points))

    def taken(self, tensor: Tensor, fill: float = 0) -> Tensor:
        """The pieces of a tensor (N, T, ...), one a row, padded."""
        places = self.first[:, None] + torch.arange(int((self.end - self.first).max()), device=tensor.device)
        past = (places >= self.end[:, None]).reshape(*places.shape, *(1,) * (tensor.ndim - 2))
        return tensor[self.rows[:, None], places.clamp_max(tensor.shape[1] - 1)].masked_fill(past, fill)


def cut(data: Trajectories, points: int) -> Trajectories:
    """Pieces of `points` time points; the last of each recording also holds what is left over."""
    if not hasattr(points, "__index__") or points < LEAST:
        raise GreymatchError(f"`points` must be a whole number of at least {LEAST}; got {points!r}.")
    pieces = Pieces.of(data.lengths, int(points))
    rows, number = pieces.rows.cpu().numpy(), pieces.number.cpu().numpy()
    times = pieces.taken(data.times, torch.inf)
    return replace(
        data,
        times=times,
        values=pieces.taken(data.values),
        mask=pieces.taken(data.mask),
        labels=np.array([f"{data.labels[row]}/{one + 1}" for row, one in zip(rows, number, strict=True)]),
        inputs=None if data.inputs is None else _inputs(data.inputs, times, pieces.rows),
        truth={name: value[rows] for name, value in data.truth.items()},
        epoch=None if data.epoch is None else data.epoch[rows],
    )


def _inputs(signals: Signals, times: Tensor, rows: Tensor) -> Signals:
    """The samples along each piece and some beyond: all of them beside each piece would be a square of the data."""
    last = times.masked_fill(times.isinf(), -torch.inf).amax(1)
    ends = [_reach(signals, int(row), times[rows == row, 0], last[rows == row]) for row in rows.unique()]
    first, end = (torch.cat(bounds) for bounds in zip(*ends, strict=True))
    pieces = Pieces(rows, torch.zeros_like(rows), first, end)
    return replace(
        signals,
        times=pieces.taken(signals.times, torch.inf),
        values=pieces.taken(signals.values),
        mask=pieces.taken(signals.seen),
    )


def _reach(signals: Signals, row: int, start: Tensor, stop: Tensor) -> tuple[Tensor, Tensor]:
    """The samples (P,) of a recording that each of its pieces needs, from the first to one past the last."""
    clock, seen = signals.times[row].contiguous(), signals.seen[row].long().cumsum(0).T.contiguous()
    length = int(clock.isfinite().sum())
    before, after = torch.searchsorted(clock, start), torch.searchsorted(clock, stop, right=True)
    count = torch.nn.functional.pad(seen, (1, 0))
    first = torch.searchsorted(seen, (count[:, before] - BEYOND + 1).clamp_min(1)).amin(0)
    end = torch.searchsorted(seen, count[:, after] + BEYOND).amax(0) + 1
    return torch.minimum(first, before), end.clamp_max(length)
