"""Inputs u(t) that are known along each trajectory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from greymatch.data.checks import shown
from greymatch.errors import GreymatchError
from greymatch.matching.interpolants import interpolant
from greymatch.matching.path import AnyPath


@dataclass(frozen=True, eq=False)
class Signals:
    """Input signals u_i(t), sampled on their own times and interpolated between them.

    `times` (N, K) are padded with inf, `values` (N, K, U) are 0 where `mask` is False; without a mask every
    finite time is a sample. `kind` is an interpolant's name such as "linear" or "cubic"; a signal is never
    extrapolated beyond its samples.
    """

    names: tuple[str, ...]
    times: Tensor
    values: Tensor
    kind: str = "cubic"
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        interpolant(self.kind)
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

    @cached_property
    def path(self) -> AnyPath:
        path = interpolant(self.kind)(self.times, self.values, self.seen)
        return path.to(self.values.device, self.values.dtype)

    def at(self, rows: Tensor, times: Tensor) -> Tensor:
        """Values (B, M, U) for trajectories `rows` (B,) at `times` (B, M)."""
        return self.path.at(rows, times).position

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
                f"{float(times[row, at]):g}. Give inputs over the whole forecast."
            )

    def _bounds(self) -> tuple[Tensor, Tensor]:
        """First and last sampled time of each input (N, U)."""
        times = self.times[..., None].expand(self.values.shape)
        first = times.masked_fill(~self.seen, torch.inf).amin(1)
        return first, times.masked_fill(~self.seen, -torch.inf).amax(1)

    def select(self, rows: Tensor) -> Signals:
        return self._each(lambda tensor: tensor[rows])

    def to(self, device: torch.device | str) -> Signals:
        return self._each(lambda tensor: tensor.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> Signals:
        mask = None if self.mask is None else change(self.mask)
        return replace(self, times=change(self.times), values=change(self.values), mask=mask)
