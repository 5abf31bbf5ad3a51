"""Signals that stay as they are until the next sample."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Held:
    """u(t) = u_k for t_k <= t < t_k+1, as a switch or a digital controller gives it.

    `times` (N, K) end in inf; `values` (N, K, U). Before its first sample a signal is as it is there.
    """

    times: Tensor
    values: Tensor

    @staticmethod
    def through(times: Tensor, values: Tensor, seen: Tensor) -> Held:
        """Each signal through its own samples (N, K, U)."""
        at = torch.arange(times.shape[1], device=times.device)[None, :, None].expand(seen.shape)
        first = seen.int().argmax(1, keepdim=True)
        latest = at.masked_fill(~seen, -1).cummax(1).values.maximum(first)
        return Held(times, values.gather(1, latest))

    def at(self, rows: Tensor, times: Tensor) -> Tensor:
        """Values (B, M, U) for trajectories `rows` (B,) at `times` (B, M)."""
        own = self.times[rows]
        last = own.isfinite().sum(1, keepdim=True) - 1
        after = torch.searchsorted(own, times.to(own.dtype).contiguous(), right=True)
        return self.values[rows[:, None], (after - 1).clamp(min=0).minimum(last)]
