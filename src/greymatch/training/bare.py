"""In Fabric's place where there is nothing to share or convert: it takes seconds to load, and looks at every step."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from greymatch.training.fused import Fused

FULL = "32-true"


@dataclass(frozen=True)
class Bare:
    """One process that computes in full precision on one device, with those of Fabric's methods that a run calls."""

    device: torch.device
    world_size: int = 1
    global_rank: int = 0

    def setup(self, objective: Any, optimizer: torch.optim.AdamW) -> tuple[Any, Fused]:
        return objective, Fused(optimizer)

    def backward(self, total: Tensor) -> None:
        total.backward()

    def no_backward_sync(self, objective: Any, enabled: bool) -> AbstractContextManager[None]:
        return nullcontext()

    def clip_gradients(self, objective: Any, optimizer: Weighted, max_norm: float, error_if_nonfinite: bool) -> Tensor:
        """As PyTorch does, but asking once what the norm is: each answer takes as long as the norm."""
        weights = weights_of(optimizer)
        norm = _norm([weight.grad for weight in weights if weight.grad is not None])
        size = norm.item()
        if error_if_nonfinite and not math.isfinite(size):
            raise RuntimeError(f"the norm of the gradient is {size}")
        if not size <= max_norm:
            torch.nn.utils.clip_grads_with_norm_(weights, max_norm, norm)
        return norm


def _norm(gradients: list[Tensor]) -> Tensor:
    if not gradients:
        return torch.zeros(())
    each = torch._foreach_norm(gradients)  # pyright: ignore[reportPrivateImportUsage]
    return torch.linalg.vector_norm(torch.stack(each))


class Weighted(Protocol):
    """What has weights in groups, as optimisers do."""

    @property
    def param_groups(self) -> list[dict[str, Any]]: ...


def weights_of(optimizer: Weighted) -> list[Tensor]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]
