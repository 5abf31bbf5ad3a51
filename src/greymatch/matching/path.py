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


class Located(NamedTuple):
    """Where each time is, all (batch, point): `place`, the number of its interval when those of all rows are counted
    one after another, the time since its left break, and its width."""

    place: Tensor
    offset: Tensor
    width: Tensor


class AnyPath(Protocol):
    """What training asks of a path: points on it, whether they are sound, and a move to a device.

    `spot` is where the times are `located`, for who asks more than once.
    """

    @property
    def degree(self) -> int: ...

    def located(self, rows: Tensor, times: Tensor) -> Located: ...

    def at(
        self, rows: Tensor, times: Tensor, generator: torch.Generator | None = None, spot: Located | None = None
    ) -> Matched: ...

    def position(self, rows: Tensor, times: Tensor) -> Tensor: ...

    def trust(self, rows: Tensor, times: Tensor, order: int = 1, spot: Located | None = None) -> Tensor: ...

    def to(self, device: Device = None, dtype: torch.dtype | None = None) -> Self: ...


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

    def at(
        self, rows: Tensor, times: Tensor, generator: torch.Generator | None = None, spot: Located | None = None
    ) -> Matched:
        """The points at `times`; nothing is random here, so `generator` is not used."""
        spot = spot or self.located(rows, times)
        return self.evaluate(spot.place, spot.offset, times)

    def position(self, rows: Tensor, times: Tensor) -> Tensor:
        """The points alone, for who needs no derivatives."""
        spot = self.located(rows, times)
        return self._derivatives(spot.place, spot.offset, 1)[0]

    def located(self, rows: Tensor, times: Tensor) -> Located:
        """Where each time falls; the last break is in the last interval, and padding gives offset 0, width 1."""
        times = times.to(self.breaks.dtype).contiguous()
        place = torch.add(self._interval(rows, times), rows[:, None], alpha=self.trusted.shape[1])
        left = self._left.take(place)
        offset = torch.where(left.isfinite(), times - left, 0.0) if self._padded else times - left
        return Located(place, offset, self._width.take(place))

    def _interval(self, rows: Tensor, times: Tensor) -> Tensor:
        """Which interval of its row each time is in: as many as there are breaks between intervals before it."""
        if self._common is not None:
            return torch.searchsorted(self._common, times, right=True)
        between = self.breaks[rows, 1:].contiguous()
        return torch.searchsorted(between, times, right=True).minimum(self._last[rows])

    @cached_property
    def _left(self) -> Tensor:
        """The break before each interval (row, interval)."""
        return self.breaks[:, :-1].contiguous()

    @cached_property
    def _padded(self) -> bool:
        return not bool(self._left.isfinite().all())

    @cached_property
    def _width(self) -> Tensor:
        """The width of each interval (row, interval), 1 for padding."""
        return torch.where(self.breaks[:, 1:].isfinite(), self.breaks.diff(dim=1), 1.0)

    @cached_property
    def _last(self) -> Tensor:
        """The last interval of each row (row, 1)."""
        return (self.breaks.isfinite().sum(1, keepdim=True) - 2).clamp(min=0)

    @cached_property
    def _common(self) -> Tensor | None:
        """The breaks between intervals of every row, where they are the same: then no row's own need be gathered."""
        same = len(self.breaks) > 0 and bool((self.breaks == self.breaks[:1]).all())
        return self.breaks[0, 1 : 1 + int(self._last[0])].contiguous() if same else None

    def evaluate(self, place: Tensor, offset: Tensor, times: Tensor) -> Matched:
        """The value and both derivatives at `offset` from the left break of the interval at `place`."""
        position, velocity, acceleration = self._derivatives(place, offset, 3)
        return Matched(times, position, velocity, acceleration if self.degree >= 2 else None)

    def _derivatives(self, place: Tensor, offset: Tensor, count: int) -> tuple[Tensor, ...]:
        """The first `count` of value, velocity and acceleration (batch, point, state, *grid)."""
        powers = picked(self.coefficients, place).flatten(0, 1).flatten(2)
        factors = offset.to(powers.dtype).reshape(-1, 1).expand(-1, self.degree)
        ones = factors.new_ones(len(factors), 1)
        basis = torch.cat([ones, factors], 1).cumprod(1) @ self._slopes[:, : count * (self.degree + 1)]
        found = torch.bmm(basis.unflatten(1, (count, -1)), powers)
        return found.unflatten(2, self.coefficients.shape[3:]).unflatten(0, place.shape).unbind(2)

    @cached_property
    def _slopes(self) -> Tensor:
        """1, d/dt and d^2/dt^2 of all powers t^k in those powers (power, 3 * power)."""
        slope = torch.diag(torch.arange(1.0, self.degree + 1), 1)
        whole = torch.cat([torch.eye(self.degree + 1), slope, slope @ slope], 1)
        return whole.to(self.coefficients)

    def trust(self, rows: Tensor, times: Tensor, order: int = 1, spot: Located | None = None) -> Tensor:
        """Whether each state may be matched; `order=2` also asks that its fit was able to bend."""
        spot = spot or self.located(rows, times)
        inside = (spot.offset >= 0) & (spot.offset <= spot.width)
        return picked(self._sound[order - 1], spot.place) & inside[..., None]

    @cached_property
    def _sound(self) -> tuple[Tensor, Tensor]:
        """Where (row, interval, state) the fit is sound for order 1, and for order 2."""
        if self.degrees is None:
            return self.trusted & (self.degree >= 1), self.trusted & (self.degree >= 2)
        return self.trusted & (self.degrees >= 1)[:, None], self.trusted & (self.degrees >= 2)[:, None]

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


def picked(table: Tensor, place: Tensor) -> Tensor:
    """What a table (row, interval, ...) holds at each place (batch, point, ...), in whole pieces of memory."""
    return table.flatten(0, 1).index_select(0, place.flatten()).unflatten(0, place.shape)


def _cast(coefficients: Tensor, device: torch.device, dtype: torch.dtype | None) -> Tensor:
    cast = coefficients.to(device, dtype).contiguous()  # as it is picked from
    if not bool(cast.isfinite().all()):
        raise GreymatchError(
            f"`dtype` must be able to hold the path's coefficients; in {dtype} those of degree "
            f"{coefficients.shape[2] - 1} overflow. Count time in a unit in which steps are near 1, in the physics too."
        )
    return cast
