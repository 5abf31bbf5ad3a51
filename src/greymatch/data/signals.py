"""Inputs u(t) that are known along each trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from greymatch.data.checks import shown
from greymatch.data.hold import Held
from greymatch.errors import GreymatchError
from greymatch.matching.interpolants import interpolant

Function = Callable[[np.ndarray], np.ndarray]
HOLD, LINEAR = "hold", "linear"


@dataclass(frozen=True, eq=False)
class Signals:
    """Input signals u_i(t), sampled on their own times and interpolated between them, or given as functions.

    `times` (N, K) are padded with inf, `values` (N, K, U) are 0 where `mask` is False; without a mask every
    finite time is a sample. `kind` is "hold" or an interpolant's name such as "linear" or "cubic"; a signal is never
    extrapolated beyond its samples. `functions` of an array of times, by name, are known at all times; their
    samples are what is written to files.
    """

    names: tuple[str, ...]
    times: Tensor
    values: Tensor
    kind: str = "cubic"
    mask: Tensor | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind != HOLD:
            check_kind(self.kind)
        wanted = (*self.times.shape, len(self.names))
        for name, tensor in (("values", self.values), ("mask", self.mask)):
            if tensor is not None and tuple(tensor.shape) != wanted:
                raise GreymatchError(
                    f"input `{name}` must be (trajectory, time, input) = {wanted}; got {tuple(tensor.shape)}."
                )

    @property
    def seen(self) -> Tensor:
        """Which values are samples (N, K, U)."""
        finite = self.times.isfinite()[..., None].expand(self.values.shape)
        return finite if self.mask is None else self.mask & finite

    @property
    def certain(self) -> tuple[bool, ...]:
        """Which are known between samples as well: functions, and all that is held or runs in straight lines."""
        return tuple(name in self.functions or self.kind in (HOLD, LINEAR) for name in self.names)

    def like(self, other: Signals) -> bool:
        """Whether another's are the same inputs, and run between their samples alike."""
        mine, theirs = ((one.names, one.kind, dict(one.functions)) for one in (self, other))
        return mine == theirs

    @cached_property
    def sampled(self) -> Callable[[Tensor, Tensor], Tensor]:
        """The samples with what runs between them."""
        if self.kind == HOLD:
            return Held.through(self.times, self.values, self.seen).at
        path = interpolant(self.kind)(self.times, self.values, self.seen)
        path = path.to(self.values.device, self.values.dtype)
        return path.position

    def at(self, rows: Tensor, times: Tensor) -> Tensor:
        """Values (B, M, U) for trajectories `rows` (B,) at `times` (B, M)."""
        computed = {name: evaluate(name, self.functions[name], times) for name in self.names if name in self.functions}
        if len(computed) == len(self.names):
            values = times.new_zeros((*times.shape, len(self.names)), dtype=self.values.dtype)
        else:
            values = self.sampled(rows, times)
        for name, column in computed.items():
            values[..., self.names.index(name)] = column.to(values)
        return values

    def check_covers(self, rows: Tensor, times: Tensor, labels: np.ndarray) -> None:
        """Raise unless every finite time (B, M) lies within the samples along trajectories `rows` (B,).

        `labels` are those of all trajectories (N,).
        """
        first, last = (bound[rows, None] for bound in self._bounds())
        slack = 1e-6 * (last - first).clamp_min(1e-12)
        asked = times[..., None]
        bad = asked.isfinite() & ((asked > last + slack) | (asked < first - slack))
        if bool(bad.any()):
            row, at, which = (int(i) for i in bad.nonzero()[0])
            label = shown(labels, int(rows[row]))
            raise GreymatchError(
                f"inputs must cover every time asked for; {self.names[which]!r} of trajectory {label} is "
                f"known from {float(first[row, 0, which]):g} to {float(last[row, 0, which]):g}, asked at "
                f"{float(times[row, at]):g}. Give inputs over the whole recording and forecast."
            )

    def _bounds(self) -> tuple[Tensor, Tensor]:
        """First and last time (N, U) at which each input is known."""
        times = self.times[..., None].expand(self.values.shape)
        first = times.masked_fill(~self.seen, torch.inf).amin(1)
        last = times.masked_fill(~self.seen, -torch.inf).amax(1)
        always = torch.tensor([name in self.functions for name in self.names], device=times.device)
        return first.masked_fill(always, -torch.inf), last.masked_fill(always, torch.inf)

    def select(self, rows: Tensor) -> Signals:
        return self._each(lambda tensor: tensor[rows])

    def to(self, device: torch.device | str) -> Signals:
        return self._each(lambda tensor: tensor.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> Signals:
        mask = None if self.mask is None else change(self.mask)
        return replace(self, times=change(self.times), values=change(self.values), mask=mask)


@dataclass(frozen=True, eq=False)
class Along:
    """Signals along trajectories `rows` (B,)."""

    signals: Signals
    rows: Tensor

    def at(self, times: Tensor) -> Tensor:
        """Values (B, M, U) at `times` (B, M)."""
        return self.signals.at(self.rows, times)

    def select(self, rows: Tensor) -> Along:
        return Along(self.signals, self.rows[rows])


def check_kind(kind: str) -> None:
    try:
        interpolant(kind)
    except GreymatchError as error:
        said = str(error).replace("`interpolant` must be one of", "`input_kind` must be one of hold,")
        raise GreymatchError(said) from None


def evaluate(name: str, function: Function, times: Tensor) -> Tensor:
    """The function at `times`, zero where they are not finite; what is no number there is an error."""
    finite = times.isfinite()
    asked = times.masked_fill(~finite, 0.0).double().cpu().numpy()
    try:
        given = np.broadcast_to(np.asarray(function(asked), dtype=np.float64), asked.shape)
    except Exception as error:
        raise GreymatchError(
            f"input {name!r} must be a function of a NumPy array of times that gives as many numbers; on an array of "
            f"shape {asked.shape} it fails: {error}. Write it with NumPy, as in lambda t: np.sin(2 * t)."
        ) from error
    wrong = ~np.isfinite(given) & finite.cpu().numpy()
    if wrong.any():
        at, there = asked[wrong][0], given[wrong][0]
        raise GreymatchError(
            f"input {name!r} must be finite at all times; at {at:g} it is {there:g}. Guard the function there."
        )
    return torch.as_tensor(given.copy()).masked_fill(~finite.cpu(), 0.0).to(times.device)
