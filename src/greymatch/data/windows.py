"""Windows and matching times, drawn in vectorised form on the training device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from greymatch.data.checks import shown
from greymatch.data.signals import Along
from greymatch.data.smoothing import Smoothed, smooth
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.together import integers, uniform

SKIPPED = 3
CHUNK = 4096


@dataclass(frozen=True)
class Window:
    """What the encoder sees: the last W points up to the start of the forecast.

    `times` (B, W) in physical units, `values` and `mask` (B, W, S, *grid), `inputs` (B, W, U) or None. `smooth` is the
    window by itself with its noise smoothed away, None where no noise is assumed; `drive` knows inputs at other times.
    """

    times: Tensor
    values: Tensor
    mask: Tensor
    inputs: Tensor | None
    smooth: Smoothed | None = None
    drive: Along | None = None

    @property
    def end(self) -> Tensor:
        """Time of the last point (B,)."""
        return self.times[:, -1]

    @property
    def length(self) -> int:
        return self.times.shape[1]

    def smoothed(self) -> Window:
        """The window without its noise."""
        return replace(self, values=self.smooth.values, smooth=None) if self.smooth else self

    def select(self, rows: Tensor) -> Window:
        inputs = None if self.inputs is None else self.inputs[rows]
        smooth, drive = self.smooth and self.smooth.select(rows), self.drive and self.drive.select(rows)
        return Window(self.times[rows], self.values[rows], self.mask[rows], inputs, smooth, drive)


@dataclass(frozen=True)
class Windows:
    """Every usable window of `length` points, as (row, last index) pairs ready to be drawn.

    `bank` holds all of them smoothed; without it, each is smoothed when it is gathered.
    """

    data: Trajectories
    length: int
    pairs: Tensor
    last: Tensor
    bank: Smoothed | None = None

    @staticmethod
    def of(data: Trajectories, length: int) -> Windows:
        observed = observed_lengths(data)
        pairs = usable(data, length).nonzero()
        if not len(pairs):
            raise GreymatchError(
                f"`window` must show every state and leave a future to match: it is {length} points, and the "
                f"longest trajectory has {int(observed.max())}. Set a smaller `window`, or drop states hardly observed."
            )
        last = data.times.gather(1, (observed[:, None] - 1).clamp_min(0))[:, 0]
        return Windows(data, length, pairs, last)

    def __len__(self) -> int:
        return len(self.pairs)

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Numbers (B,) of windows, with replacement."""
        return integers(len(self.pairs), (count,), generator, self.pairs.device)

    def rows(self, chosen: Tensor) -> Tensor:
        """The trajectory of each chosen window (B,)."""
        return self._places[0].index_select(0, chosen)

    @cached_property
    def _places(self) -> tuple[Tensor, Tensor]:
        """The rows and the last indices of all windows, each in one piece of memory."""
        rows, ends = self.pairs.T.contiguous()
        return rows, ends

    def banked(self, room: float) -> Windows:
        """All smoothed once and for all, if noise is assumed and they fit in `room` bytes."""
        size = (32 * self.length + 96) * len(self) * self.data.values[0, 0].numel()
        if not self.data.noise or size > room:
            return self
        parts = torch.arange(len(self), device=self.pairs.device).split(CHUNK)
        found = [smooth for chunk in parts if (smooth := self.gather(chunk).smooth)]
        return replace(self, bank=Smoothed.joined(found))

    def gather(self, chosen: Tensor) -> Window:
        rows, ends = self.pairs[chosen].unbind(1)
        if self.bank is None:
            return gather(self.data, rows, ends, self.length)
        return replace(observed(self.data, rows, ends, self.length), smooth=self.bank.select(chosen))

    def within(self, chosen: Tensor, points: int, generator: torch.Generator) -> Tensor:
        """Matching times (B, M) inside each window, uniform but for its first steps: interpolants err where data
        begin."""
        rows, ends = self.pairs[chosen].unbind(1)
        start = self.data.times[rows, ends - self.length + 1 + min(SKIPPED, self.length - 2)][:, None]
        part = uniform((len(rows), points), generator, rows, torch.float64)
        return start + part * (self.data.times[rows, ends][:, None] - start)

    def future(self, chosen: Tensor, points: int, horizon: float | None, generator: torch.Generator) -> Tensor:
        """Matching times (B, M) between the end of each window and that of its trajectory, or the horizon.

        One in each of `points` parts of the future; the parts widen with lead time, since early errors are
        carried along by the whole forecast.
        """
        rows, ends = self.pairs[chosen].unbind(1)
        end = self.data.times[rows, ends]
        until = self.last[rows] if horizon is None else torch.minimum(self.last[rows], end + horizon)
        jitter = uniform((len(rows), points), generator, rows, torch.float64)
        part = (torch.arange(points, device=rows.device) + jitter) / points
        return end[:, None] + part.square() * (until - end)[:, None]

    def anywhere(self, rows: Tensor, points: int, generator: torch.Generator) -> Tensor:
        """Matching times (B, M) all over trajectories but for their first steps, one in each of M parts."""
        start, span = self._spans.index_select(0, rows).split(1, 1)
        jitter = uniform((len(rows), points), generator, rows, torch.float64)
        part = (torch.arange(points, device=rows.device) + jitter) / points
        return torch.addcmul(start, part, span)

    @cached_property
    def _spans(self) -> Tensor:
        """From when on each trajectory is matched, and for how long (N, 2)."""
        start = self.data.times[:, min(SKIPPED, self.length - 2)]
        return torch.stack([start, self.last - start], 1)


def spread_windows(data: Trajectories, length: int, most: int = 6) -> tuple[Window, Tensor]:
    """Windows (M) spread over each trajectory from its first to its last, one trajectory after another, and which of
    the `most` that each may have these are (N, most).

    As many as fit side by side, but two if there are two at all, then with points in common.
    """
    there = usable(data, length)
    order = torch.where(there, torch.arange(there.shape[1], device=there.device), there.shape[1]).sort(1).values
    count = there.sum(1, keepdim=True)
    side_by_side = (1 + (count - 1).clamp_min(0) // length).clamp(2, most)
    place = torch.arange(most, device=count.device) / (side_by_side - 1) * (count - 1).clamp_min(0)
    ends = order.gather(1, place.round().long().minimum((count - 1).clamp_min(0)))
    known = (ends < there.shape[1]) & (ends.diff(dim=1, prepend=ends[:, :1] - 1) > 0)
    return gather(data, known.nonzero()[:, 0], ends[known], length), known


def longest_windows(history: Trajectories, lengths: Sequence[int]) -> list[tuple[int, Tensor]]:
    """For each of `lengths`, longest first, the trajectories (n,) whose history fills it but no longer one."""
    observed = observed_lengths(history)
    found, left = [], torch.ones_like(observed, dtype=torch.bool)
    for length in lengths:
        fits = left & (observed >= length)
        found.append((length, fits.nonzero()[:, 0]))
        left = left & ~fits
    if bool(left.any()):
        row = int(left.nonzero()[0])
        raise GreymatchError(
            f"`history` must hold at least {lengths[-1]} points, the model's shortest window; trajectory "
            f"{shown(history.labels, row)} has {int(observed[row])}. Give a longer history."
        )
    return [(length, rows) for length, rows in found if len(rows)]


def last_window(history: Trajectories, length: int) -> Window:
    """The window that a forecast from `history` starts with: up to the last observation of each trajectory."""
    lengths = observed_lengths(history)
    if int(lengths.min()) < length:
        row = int(lengths.argmin())
        raise GreymatchError(
            f"`history` must hold at least the {length} points of the model's window; trajectory "
            f"{shown(history.labels, row)} has {int(lengths[row])}. Give a longer history."
        )
    rows = torch.arange(len(history), device=lengths.device)
    window = gather(history, rows, lengths - 1, length)
    unseen = ~_of_states(window.mask).any(1)
    if bool(unseen.any()):
        row, state = (int(i) for i in unseen.nonzero()[0])
        raise GreymatchError(
            f"`history` must show every state in its last {length} points, the model's window; "
            f"{history.states[state]!r} of trajectory {shown(history.labels, row)} has no value there. "
            "Shorten the history with `.until(t)`, or drop the trajectory."
        )
    return window


def observed_lengths(data: Trajectories) -> Tensor:
    """Number of points (N,) up to the last one at which any state is observed."""
    seen = data.mask.flatten(2).any(2)
    return (seen * torch.arange(1, seen.shape[1] + 1, device=seen.device)).amax(1)


def readable(data: Trajectories, length: int) -> Tensor:
    """Whether the last `length` points of each trajectory (N,) are there, and show every state."""
    lengths, seen = observed_lengths(data), _of_states(data.mask)
    place = torch.arange(seen.shape[1], device=seen.device)
    last = (place < lengths[:, None]) & (place >= lengths[:, None] - length)
    return (lengths >= length) & (seen & last[..., None]).any(1).all(1)


def usable(data: Trajectories, length: int) -> Tensor:
    """Whether the window that ends at each point (N, T) ends observed, shows every state and has a future."""
    ends = torch.arange(data.times.shape[1], device=data.times.device)
    seen = _of_states(data.mask)
    count = seen.long().cumsum(1)
    before = torch.zeros_like(count)
    before[:, length:] = count[:, :-length]
    complete = (count > before).all(2) & seen.any(2)
    return complete & (ends >= length - 1) & (ends < observed_lengths(data)[:, None] - 1)


def _of_states(mask: Tensor) -> Tensor:
    """Where each state (..., S) is observed at any pixel of its grid."""
    return mask.flatten(3).any(3) if mask.ndim > 3 else mask


def gather(data: Trajectories, rows: Tensor, ends: Tensor, length: int) -> Window:
    """Windows of `length` points that end at index `ends` (B,) of trajectories `rows` (B,), smoothed by themselves."""
    window = observed(data, rows, ends, length)
    if not data.noise:
        return window
    return replace(window, smooth=smooth(window.times, window.values, window.mask, data.noise))


def observed(data: Trajectories, rows: Tensor, ends: Tensor, length: int) -> Window:
    """The same as they were observed."""
    index = ends[:, None] + torch.arange(1 - length, 1, device=ends.device)
    at = (rows[:, None], index)
    times = data.times[at]
    drive = Along(data.inputs, rows) if data.inputs else None
    return Window(times, data.values[at], data.mask[at], drive.at(times) if drive else None, drive=drive)
