"""The step of an optimiser of one piece, without what goes before it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

ONE = torch.ones(())  # as a number it would become a tensor once for each weight


class Fused:
    """AdamW whose weights move as by its own `step`, but for what that tells a profiler and looks up each time, which
    takes longer than to move them."""

    def __init__(self, optimizer: torch.optim.AdamW) -> None:
        self._optimizer = optimizer

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self._optimizer.param_groups

    def zero_grad(self, set_to_none: bool = True) -> None:
        self._optimizer.zero_grad(set_to_none)

    @torch.no_grad()
    def step(self) -> None:
        groups = [
            (group, [weight for weight in group["params"] if weight.grad is not None]) for group in self.param_groups
        ]
        known = self._optimizer.state
        if all(group["fused"] and known[weight] for group, weights in groups for weight in weights):
            for group, weights in groups:
                _moved(weights, [known[weight] for weight in weights], group)
        else:
            self._optimizer.step()  # which also makes room for what is remembered of each weight


def _moved(weights: list[Tensor], known: list[dict[str, Tensor]], group: dict[str, Any]) -> None:
    if not weights:
        return
    first, second = group["betas"]
    steps = [slots["step"] for slots in known]
    torch._foreach_add_(steps, ONE)  # pyright: ignore[reportPrivateImportUsage]
    torch._fused_adamw_(  # pyright: ignore[reportPrivateImportUsage]
        weights,
        [weight.grad for weight in weights if weight.grad is not None],
        [slots["exp_avg"] for slots in known],
        [slots["exp_avg_sq"] for slots in known],
        [],
        steps,
        lr=group["lr"],
        beta1=first,
        beta2=second,
        weight_decay=group["weight_decay"],
        eps=group["eps"],
        amsgrad=False,
        maximize=False,
    )
