"""The state a forecast starts from, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.stencils import end_velocity


class Observed(Protocol):
    """`Trajectories` or a `Window`: times (N, T), values and mask (N, T, S, *grid)."""

    @property
    def times(self) -> Tensor: ...

    @property
    def values(self) -> Tensor: ...

    @property
    def mask(self) -> Tensor: ...


@dataclass(frozen=True)
class Start:
    """Where forecasts start: `phase` (N, order*S, *grid) at `time` (N,)."""

    phase: Tensor
    time: Tensor

    @staticmethod
    def of(history: Observed, order: int) -> Start:
        """At the last point at which any state of each row is observed."""
        seen = history.mask.flatten(2).any(2) & history.times.isfinite()
        return Start(start_phase(history, order), history.times.masked_fill(~seen, -torch.inf).amax(1))

    def select(self, rows: Tensor) -> Start:
        return Start(self.phase[rows], self.time[rows])


def start_phase(history: Observed, order: int, points: int = 5) -> Tensor:
    """The phase (N, order*S, *grid): last observed values and, for order 2, the velocity the history shows there.

        phase = start_phase(history, physics.order)

    The velocity is the slope of the polynomial through the last `points` observations of each state. A state
    not observed at the very end enters with its last observation, unchanged. Not for noisy histories.
    """
    counts = history.mask.sum(1)
    _check_observed(history, counts, order)
    times, values = last_points(history, points)
    if order == 1:
        return values[:, -1]
    return torch.cat([values[:, -1], _velocity(times, values, counts)], 1)


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
