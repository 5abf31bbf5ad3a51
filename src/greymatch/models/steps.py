"""Steps of a solver through a window, from each of its points to the next."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.matching.lagrange_weights import value_weights
from greymatch.matching.path import widen

NODES = 8  # that tell an input between them
MOST = 32  # steps over one gap
SAME = 1e-3  # of a step, by which equal spacings may differ


@dataclass(frozen=True)
class Steps:
    """Where Runge-Kutta asks the field: `stages` (B, 2M + 1), ends and middles of the steps, in double.

    `ends` (B, W) counts the steps to each point of the window; the steps after the last one have no length. `after`
    (B, 2M + 1) is the point that a stage follows, and `share` how far it is to the next.
    """

    stages: Tensor
    ends: Tensor
    after: Tensor
    share: Tensor

    @staticmethod
    def of(times: Tensor, each: int) -> Steps:
        """With `each` of them over the usual spacing of `times` (B, W), and more over wider gaps."""
        gaps = times.diff(dim=1)
        usual = gaps.median(1, keepdim=True).values
        counts = (each * gaps / usual - SAME).ceil().clamp(1, MOST).long()
        ends = torch.nn.functional.pad(counts.cumsum(1), (1, 0))
        place = torch.arange(2 * int(ends.max()) + 1, device=times.device) / 2
        place = place.expand(len(times), -1).contiguous()
        after = torch.searchsorted(ends[:, 1:].to(place), place, right=True).clamp_max(gaps.shape[1] - 1)
        share = ((place - ends.gather(1, after)) / counts.gather(1, after)).clamp_max(1.0).to(times)
        return Steps(times.gather(1, after) + share * gaps.gather(1, after), ends, after, share)

    def select(self, rows: Tensor) -> Steps:
        return Steps(*(part[rows] for part in (self.stages, self.ends, self.after, self.share)))

    def reached(self, states: Tensor) -> Tensor:
        """States (B, W, *state) at the points, of those (B, M + 1, *state) after each step."""
        where = widen(self.ends, states)
        return states.gather(1, where.expand(-1, -1, *states.shape[2:]))

    def inputs(self, window: Window) -> Tensor | None:
        """Inputs (B, 2M + 1, U) at the stages, by the polynomial through the window's points around each."""
        if window.inputs is None:
            return None
        count = window.length
        nodes = min(NODES, count)
        first = (self.after - (nodes - 2) // 2).clamp(0, count - nodes)
        around = first[..., None] + torch.arange(nodes, device=first.device)
        rows = torch.arange(len(around), device=around.device)[:, None, None]
        weights = value_weights(window.times[rows, around] - self.stages[..., None])
        return torch.einsum("bmn,bmnu->bmu", weights, window.inputs[rows, around].to(weights))
