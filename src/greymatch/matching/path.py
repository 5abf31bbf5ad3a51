"""Piecewise polynomial paths through observations, and the points matched on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from greymatch.errors import GreymatchError

Device = torch.device | str | None


class Matched(NamedTuple):
    """Points x(t), x'(t) and x''(t) of the paths of a batch: what the model is matched to.

    `time` (batch, point) is as asked; the others are (batch, point, state, *grid) in the path's dtype.
    `acceleration` is None where the path has none (linear, bridge).
    """

    time: Tensor
    position: Tensor
    velocity: Tensor
    acceleration: Tensor | None


class AnyPath(Protocol):
    """What training asks of a path: points on it, whether they are sound, and a move to a device."""

    @property
    def degree(self) -> int: ...

    def at(self, rows: Tensor, times: Tensor, generator: torch.Generator | None = None) -> Matched: ...

    def position(self, rows: Tensor, times: Tensor) -> Tensor: ...

    def trust(self, rows: Tensor, times: Tensor, order: int = 1) -> Tensor: ...

    def to(self, device: Device = None, dtype: torch.dtype | None = None) -> Self: ...


class Located(NamedTuple):
    """The interval that holds each time, the time since its left break, and its width; all (batch, point)."""

    interval: Tensor
    offset: Tensor
    width: Tensor


@dataclass(frozen=True, eq=False)
class Path:
    """x(t) = sum_k c_k (t - t_i)^k on each interval [t_i, t_i+1] of each trajectory.

        path = Spline(degree=3)(times, values, mask)
        path = path.to("cpu", torch.float32)
        point = path.at(rows, query)            # rows (batch,), query (batch, point)
        sound = path.trust(rows, query)         # (batch, point, state)

    `breaks` (row, time) end in +inf padding; `coefficients` are (row, interval, power, state, *grid);
    `trusted` (row, interval, state) is False where any pixel of a state is extrapolated or in too long a gap;
    `degrees` (row, state) is what the fit reached with the points it had, None when `degree` everywhere.

    Not for forecasting: beyond the breaks the end polynomial runs on, and is not trusted. In float32, time is
    best measured in a unit near the sampling step, since c_k has the unit of the values over time^k.
    """

    breaks: Tensor
    coefficients: Tensor
    trusted: Tensor
    degrees: Tensor | None = None

    @property
    def degree(self) -> int:
        return self.coefficients.shape[2] - 1

    def at(self, rows: Tensor, times: Tensor, generator: torch.Generator | None = None) -> Matched:
        """The points at `times`; nothing is random here, so `generator` is not used."""
        spot = self.located(rows, times)
        return self.evaluate(rows, spot.interval, spot.offset, times)

    def position(self, rows: Tensor, times: Tensor) -> Tensor:
        """The points alone, for who needs no derivatives."""
        spot = self.located(rows, times)
        powers = self.coefficients[rows[:, None], spot.interval].unbind(2)
        dt = widen(spot.offset.to(powers[0].dtype), powers[0])
        position = powers[-1]
        for coefficient in reversed(powers[:-1]):
            position = position * dt + coefficient
        return position

    def located(self, rows: Tensor, times: Tensor) -> Located:
        """Where each time falls; the last break is in the last interval, and padding gives offset 0, width 1."""
        times = times.to(self.breaks.dtype).contiguous()
        own = self._common
        if own is None:
            own, last = self.breaks[rows], self._last[rows]
            interval = (torch.searchsorted(own, times, right=True) - 1).clamp(min=0).minimum(last)
            left, right = own.gather(1, interval), own.gather(1, interval + 1)
        else:
            interval = (torch.searchsorted(own, times, right=True) - 1).clamp(min=0).minimum(self._last[0])
            left, right = own[interval], own[interval + 1]
        offset = torch.where(left.isfinite(), times - left, 0.0)
        return Located(interval, offset, torch.where(right.isfinite(), right - left, 1.0))

    @cached_property
    def _last(self) -> Tensor:
        """The last interval of each row (row, 1)."""
        return (self.breaks.isfinite().sum(1, keepdim=True) - 2).clamp(min=0)

    @cached_property
    def _common(self) -> Tensor | None:
        """The breaks of every row, where they are the same: then no row's own need be gathered."""
        same = len(self.breaks) > 0 and bool((self.breaks == self.breaks[:1]).all())
        return self.breaks[0].contiguous() if same else None

    def evaluate(self, rows: Tensor, interval: Tensor, offset: Tensor, times: Tensor) -> Matched:
        """Horner's rule for the value and both derivatives at `offset` from the left break."""
        powers = self.coefficients[rows[:, None], interval].unbind(2)
        dt = widen(offset.to(powers[0].dtype), powers[0])
        position, velocity, bend = powers[-1], torch.zeros_like(powers[-1]), torch.zeros_like(powers[-1])
        for coefficient in reversed(powers[:-1]):
            bend = bend * dt + velocity
            velocity = velocity * dt + position
            position = position * dt + coefficient
        return Matched(times, position, velocity, 2 * bend if self.degree >= 2 else None)

    def trust(self, rows: Tensor, times: Tensor, order: int = 1) -> Tensor:
        """Whether each state may be matched; `order=2` also asks that its fit was able to bend."""
        spot = self.located(rows, times)
        inside = (spot.offset >= 0) & (spot.offset <= spot.width)
        sound = self.trusted[rows[:, None], spot.interval] & inside[..., None]
        if self.degrees is None:
            return sound if self.degree >= order else torch.zeros_like(sound)
        return sound & (self.degrees[rows] >= order)[:, None]

    def to(self, device: Device = None, dtype: torch.dtype | None = None) -> Path:
        """The path elsewhere; breaks stay float64 where they can, since steps are small beside times."""
        device = torch.device(device) if device is not None else self.breaks.device
        coarse = device.type == "mps"
        return replace(
            self,
            breaks=self.breaks.to(device, torch.float32 if coarse else torch.float64),
            coefficients=_cast(self.coefficients, device, dtype),
            trusted=self.trusted.to(device),
            degrees=None if self.degrees is None else self.degrees.to(device),
        )


def widen(tensor: Tensor, like: Tensor) -> Tensor:
    """Trailing axes of size one, so that `tensor` broadcasts from the left against `like`."""
    return tensor.reshape(*tensor.shape, *[1] * (like.ndim - tensor.ndim))


def _cast(coefficients: Tensor, device: torch.device, dtype: torch.dtype | None) -> Tensor:
    cast = coefficients.to(device, dtype)
    if not bool(cast.isfinite().all()):
        raise GreymatchError(
            f"`dtype` must be able to hold the path's coefficients; in {dtype} those of degree "
            f"{coefficients.shape[2] - 1} overflow. Measure time in a unit closer to the sampling step."
        )
    return cast
