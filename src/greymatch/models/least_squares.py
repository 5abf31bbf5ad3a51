"""Gauss-Newton for the parameters of many trajectories at once, beside terms that are linear already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Reach:
    """How far one step may go, and between which ends (L,) it must land."""

    low: Tensor
    high: Tensor
    step: float = torch.inf

    def after(self, at: Tensor, step: Tensor) -> Tensor:
        step = step.clamp(-self.step, self.step).to(at)
        return torch.minimum(torch.maximum(at + step, self.low), self.high)


def gauss_newton(solve: Callable[[Tensor], Tensor], start: Tensor, reach: Reach, sweeps: int) -> tuple[Tensor, Tensor]:
    """Parameters (B, L) from `start` on, and the weights (B, K) of the linear terms after the last sweep.

    `solve` gives the step and those weights (B, L + K) about parameters (B, L).
    """
    best, weights = start, start[:, :0]
    for _ in range(sweeps):
        solution = solve(best)
        best, weights = reach.after(best, solution[:, : start.shape[1]]), solution[:, start.shape[1] :]
    return best, weights


def ridge(design: Tensor, target: Tensor, penalty: Tensor, count: Tensor, pull: Tensor | None = None) -> Tensor:
    """Weights w (B, K) that make |design w - target|^2 / count + penalty . (w + pull)^2 least, solved in double.

    Two columns that say the same leave nothing to solve: zero says so.
    """
    square = (design.mT @ design / count[..., None]).double()
    side = ((design.mT @ target[..., None])[..., 0] / count).double()
    side = side if pull is None else side - penalty * pull
    solution, _ = torch.linalg.solve_ex(square + torch.diag(penalty.to(square)), side[..., None])
    return solution[..., 0].nan_to_num(0.0, 0.0, 0.0).to(design.dtype)
