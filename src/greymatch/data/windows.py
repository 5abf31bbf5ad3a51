"""Windows and matching times, drawn in vectorised form on the training device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.checks import shown
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError


@dataclass(frozen=True)
class Window:
    """What the encoder sees: the last W points up to the start of the forecast.

    `times` (B, W) in physical units, `values` and `mask` (B, W, S, *grid), `inputs` (B, W, U) or None.
    """

    times: Tensor
    values: Tensor
    mask: Tensor
    inputs: Tensor | None

    @property
    def end(self) -> Tensor:
        """Time of the last point (B,)."""
        return self.times[:, -1]


@dataclass(frozen=True)
class Windows:
    """Every window of `length` points that has a future, as (row, last index) pairs ready to be drawn."""

    data: Trajectories
    length: int
    pairs: Tensor
    last: Tensor

    @staticmethod
    def of(data: Trajectories, length: int) -> Windows:
        lengths = data.lengths
        if int(lengths.max()) <= length:
            raise GreymatchError(
                f"`window` must leave a future to match: it is {length} points, and the longest trajectory has "
                f"{int(lengths.max())}. Set a smaller `window`."
            )
        ends = torch.arange(data.times.shape[1], device=data.times.device)
        usable = (ends >= length - 1) & (ends < lengths[:, None] - 1)
        last = data.times.gather(1, lengths[:, None] - 1)[:, 0]
        return Windows(data, length, usable.nonzero(), last)

    def __len__(self) -> int:
        return len(self.pairs)

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Numbers (B,) of windows, with replacement."""
        return torch.randint(len(self.pairs), (count,), generator=generator, device=self.pairs.device)

    def rows(self, chosen: Tensor) -> Tensor:
        """The trajectory of each chosen window (B,)."""
        return self.pairs[chosen, 0]

    def gather(self, chosen: Tensor) -> Window:
        return gather(self.data, *self.pairs[chosen].unbind(1), self.length)

    def future(
        self, chosen: Tensor, points: int, horizon: float | None, generator: torch.Generator
    ) -> Tensor:
        """Matching times (B, M) between the end of each window and that of its trajectory, or the horizon.

        One in each of `points` parts of the future; the parts widen with lead time, since early errors are
        carried along by the whole forecast.
        """
        rows, ends = self.pairs[chosen].unbind(1)
        end = self.data.times[rows, ends]
        until = self.last[rows] if horizon is None else torch.minimum(self.last[rows], end + horizon)
        jitter = torch.rand((len(rows), points), generator=generator, device=rows.device, dtype=torch.float64)
        part = (torch.arange(points, device=rows.device) + jitter) / points
        return end[:, None] + part.square() * (until - end)[:, None]


def last_window(history: Trajectories, length: int) -> Window:
    """The window that a forecast from `history` starts with."""
    lengths = history.lengths
    if int(lengths.min()) < length:
        row = int(lengths.argmin())
        raise GreymatchError(
            f"`history` must hold at least the {length} points of the model's window; trajectory "
            f"{shown(history.labels, row)} has {int(lengths[row])}. Give a longer history."
        )
    rows = torch.arange(len(history), device=lengths.device)
    return gather(history, rows, lengths - 1, length)


def gather(data: Trajectories, rows: Tensor, ends: Tensor, length: int) -> Window:
    """Windows of `length` points that end at index `ends` (B,) of trajectories `rows` (B,)."""
    index = ends[:, None] + torch.arange(1 - length, 1, device=ends.device)
    at = (rows[:, None], index)
    times = data.times[at]
    inputs = data.inputs.at(rows, times) if data.inputs else None
    return Window(times, data.values[at], data.mask[at], inputs)
