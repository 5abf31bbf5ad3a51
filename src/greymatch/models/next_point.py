"""Trajectory flow matching's net: from anywhere on the way, it names the next observation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from greymatch.data.scaling import Scales
from greymatch.models.memory import Memory
from greymatch.models.residual import FIELDS
from greymatch.physics.physics import Physics
from greymatch.settings import MemorySettings, ResidualSettings

CLOSEST = 0.01  # steps between two observations below which their slope is not trusted


class NextPoint(nn.Module):
    """dx/dt = (x_next(x, t, memory, u) - x) / (t_next - t), with x_next = x_last + (t_next - t_last) net(...).

    All states are in units of their spread, all times in typical steps. The net sees the slopes between remembered
    observations, so that it need not take small differences of large numbers itself, and names how the slope goes
    on. `shortest` is the least interval between observations that it learned from.
    """

    unit: Tensor
    scales_top: Tensor
    shortest: Tensor

    def __init__(self, physics: Physics, scales: Scales, memory: MemorySettings, residual: ResidualSettings) -> None:
        super().__init__()
        self.axes, self.inputs = len(physics.grid), len(physics.inputs)
        states = len(physics.states)
        self.register_buffer("unit", scales.velocity * scales.step / scales.spread, persistent=False)
        self.register_buffer("scales_top", scales.velocity.clone(), persistent=False)
        self.register_buffer("shortest", torch.ones(()))
        size = residual.model_copy(update={"width": memory.width, "depth": memory.depth, "kernel": memory.kernel})
        seen = (2 * memory.points + 1) * states
        extra = 2 + (memory.points + 2) * self.inputs
        self.field = FIELDS[residual.kind](seen, extra, states, 1, self.axes, size)

    def forward(self, moving: Tensor, part: Tensor, steps: Tensor, memory: Memory, ahead: Tensor) -> Tensor:
        """The next observation (B, S, *grid), named at `moving` (B, S, *grid), `part` (B,) of the way there.

        The interval is `steps` (B,) long; `ahead` (B, 2, U) are the inputs in its middle and at its end.
        """
        unit = self.unit.reshape(-1, *(1,) * self.axes)
        slopes, gaps = _slopes(memory, unit)
        seen = torch.cat([(moving - memory.last) / unit, memory.last, slopes.flatten(1, 2), gaps.flatten(1, 2)], 1)
        known = [part[:, None], steps[:, None] - 1, memory.inputs.flatten(1), ahead.flatten(1)]
        extra = torch.cat(known, 1)
        learned = self.field(seen, extra.reshape(*extra.shape, *(1,) * self.axes))
        return memory.last + unit * _wide(steps, learned) * (learned + slopes[:, -1:].sum(1))


def _slopes(memory: Memory, unit: Tensor) -> tuple[Tensor, Tensor]:
    """Slopes (B, H - 1, S, *grid) between remembered observations, and gaps (B, H, S, *grid) from each to the next.

    Gaps are less one step, so that they vanish on regular data; -1 stands where there is no observation.
    """
    there = memory.ages.isfinite()
    gap = (-memory.ages.diff(dim=1)).clamp_min(CLOSEST)
    slopes = memory.values.diff(dim=1) / (unit * gap)
    both = there[:, :-1] & there[:, 1:]
    gaps = torch.cat([gap - 1, memory.ages[:, -1:]], 1).masked_fill(~there, -1.0)
    return slopes.masked_fill(~both, 0.0), gaps


def _wide(steps: Tensor, like: Tensor) -> Tensor:
    """(B,) shaped to broadcast over (B, S, *grid)."""
    return steps.reshape(-1, *(1,) * (like.ndim - 1))
