"""In Fabric's place where there is nothing to share or convert: it takes seconds to load, and looks at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

FULL = "32-true"


@dataclass(frozen=True)
class Bare:
    """One process that computes in full precision on one device, with those of Fabric's methods that a run calls."""

    device: torch.device
    world_size: int = 1
    global_rank: int = 0

    def setup(self, objective: Any, optimizer: torch.optim.Optimizer) -> tuple[Any, torch.optim.Optimizer]:
        return objective, optimizer

    def backward(self, total: Tensor) -> None:
        total.backward()

    def clip_gradients(
        self, objective: Any, optimizer: torch.optim.Optimizer, max_norm: float, error_if_nonfinite: bool
    ) -> Tensor:
        weights = weights_of(optimizer)
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients, error_if_nonfinite=error_if_nonfinite)
        if not bool(norm <= max_norm):
            torch.nn.utils.clip_grads_with_norm_(weights, max_norm, norm)
        return norm


def weights_of(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]
