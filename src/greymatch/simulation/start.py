"""The state a forecast starts from, the same for every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from greymatch.data.smoothing import Smoothed
from greymatch.errors import GreymatchError
from greymatch.matching.lagrange_weights import slope_weights, value_weights
from greymatch.matching.stencils import end_velocity
from greymatch.models.mirrored import mirrored

POINTS = 7  # that show a velocity
NODES = 4  # observations that carry a state on
FARTHEST = 0.7  # how far they do, as part of the time that they span


class Observed(Protocol):
    """`Trajectories` or a `Window`: times (N, T), values and mask (N, T, S, *grid)."""

    @property
    def times(self) -> Tensor: ...

    @property
    def values(self) -> Tensor: ...

    @property
    def mask(self) -> Tensor: ...

    @property
    def smooth(self) -> Smoothed | None: ...


@dataclass(frozen=True)
class Start:
    """Where forecasts start: `phase` (N, order*S, *grid) at `time` (N,).

    `root` (N, S, *grid, order, order) is that of the covariance which noise leaves to each state, None without noise.
    """

    phase: Tensor
    time: Tensor
    root: Tensor | None = None

    @staticmethod
    def of(history: Observed, order: int, points: int = POINTS) -> Start:
        """At the last point at which any state of each row is observed; velocities from up to `points` of them."""
        seen = history.mask.flatten(2).any(2) & history.times.isfinite()
        time, smooth = history.times.masked_fill(~seen, -torch.inf).amax(1), history.smooth
        if smooth is None:
            return Start(start_phase(history, order, points), time)
        _check_observed(history, history.mask.sum(1), order)
        root = torch.linalg.cholesky(smooth.covariance[..., :order, :order])
        return Start(torch.cat(smooth.phase[..., :order].unbind(-1), 1), time, root)

    def __len__(self) -> int:
        return len(self.time)

    @staticmethod
    def joined(parts: Sequence[Start]) -> Start:
        roots = [part.root for part in parts if part.root is not None]
        phase, time = torch.cat([part.phase for part in parts]), torch.cat([part.time for part in parts])
        return Start(phase, time, torch.cat(roots) if roots else None)

    def select(self, rows: Tensor) -> Start:
        return Start(self.phase[rows], self.time[rows], None if self.root is None else self.root[rows])

    def drawn(self, draws: int, generator: torch.Generator | None, widening: Tensor | float = 1.0) -> Start:
        """What may be behind the noise, (draws * N), draw after draw; as it is if there is none, or for one draw."""
        if self.root is None or draws == 1:
            return self
        noise = mirrored(draws, self.root[..., 0], generator)[..., None]
        moved = torch.cat((widening * (self.root @ noise)[..., 0]).unbind(-1), 2)
        return Start((self.phase + moved).flatten(0, 1), self.time.repeat(draws))


def start_phase(history: Observed, order: int, points: int = POINTS) -> Tensor:
    """The phase (N, order*S, *grid): last observed values and, for order 2, the velocity the history shows there.

        phase = start_phase(history, physics.order)

    The velocity is the slope of the polynomial through the last `points` observations of each state. A state
    not observed at the very end is carried on there by such a polynomial, if the way is short, and else enters with
    its last observation. Not for noisy histories.
    """
    counts = history.mask.sum(1)
    _check_observed(history, counts, order)
    times, values = last_points(history, points)
    last = values[:, -1].clone()
    phase = [last] if order == 1 else [last, _velocity(times, values, counts)]
    return torch.cat(_carried(phase, times, values, counts), 1)


def _carried(phase: list[Tensor], times: Tensor, values: Tensor, counts: Tensor) -> list[Tensor]:
    """The phase of states that were last observed a while before the others, at the time of those."""
    end = times[:, -1].flatten(1).amax(1)
    since = times[:, -NODES:] - end.reshape(-1, *(1,) * (times.ndim - 1))
    since, recent = (part.movedim(1, -1) for part in (since, values[:, -NODES:]))
    way = -since[..., -1]
    near = (way > 0) & (way <= FARTHEST * (since[..., -1] - since[..., 0]))
    short = near & (counts >= NODES) & (since.shape[-1] >= NODES)
    for part, weights in zip(phase, (value_weights, slope_weights), strict=False):
        part[short] = (weights(since[short]) * recent[short].to(since)).sum(-1).to(part)
    return phase


def last_points(history: Observed, points: int) -> tuple[Tensor, Tensor]:
    """Times and values (N, points, S, *grid) of each state's last observations, the very last one last.

    Where a state has fewer, whatever stands before them is not observed; a short history gives fewer points.
    """
    # a stable sort by "observed" moves the observations to the end, in their order
    index = history.mask.to(torch.int8).argsort(dim=1, stable=True)[:, -points:]
    clock = history.times.reshape(*history.times.shape, *[1] * (history.values.ndim - 2))
    return clock.expand_as(history.values).gather(1, index), history.values.gather(1, index)


def _velocity(times: Tensor, values: Tensor, counts: Tensor) -> Tensor:
    """Slope (N, S, *grid) at the last point of each channel, from all the points it has."""
    points = times.shape[1]
    times, values = (part.movedim(1, -1).reshape(-1, points) for part in (times, values))
    usable = counts.flatten().clamp(max=points)
    slope = values.new_zeros(len(values))
    for count in usable.unique().tolist():
        rows = usable == count
        since = times[rows, -count:] - times[rows, -1:]
        slope[rows] = end_velocity(since.to(values.dtype), values[rows, -count:, None], count)[:, 0]
    return slope.reshape(counts.shape)


def _check_observed(history: Observed, counts: Tensor, order: int) -> None:
    few = counts < order
    if bool(few.any()):
        row, state = (int(i) for i in few.nonzero()[0][:2])
        needs = "two observations, for a velocity," if order == 2 else "an observation"
        raise GreymatchError(
            f"`history` must hold {needs} of every state; state number {state} of trajectory number {row} has "
            f"{int(counts[tuple(few.nonzero()[0])])}. Give a longer history."
        )
