"""Weights averaged over the steps of a run: what it is judged by, and keeps."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

EARLY = 9  # steps after which half of the first ones is forgotten


class Averaging:
    """An exponential mean of weights that change in place, kept in `averaged` tensors by name; of those alone that are
    `learned`, if that is said: others stay as they are.

    To ask a network for its weights at each step would take longer than to average them.
    """

    def __init__(self, current: dict[str, Tensor], learned: Iterable[str] | None = None) -> None:
        self._current = current
        self._learned = list(current if learned is None else learned)

    def first(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._current.items()}

    @torch.no_grad()
    def update(self, averaged: dict[str, Tensor], step: int, memory: float) -> None:
        """With the weights after `step` steps; the memory grows with the run, so that the first ones are forgotten."""
        keep = min(memory, step / (step + EARLY))
        means, weights = ([tensors[name] for name in self._learned] for tensors in (averaged, self._current))
        torch._foreach_lerp_(means, weights, 1 - keep)  # pyright: ignore[reportPrivateImportUsage]


class Swapped:
    """Holds other weights in a module for a while, then puts its own back."""

    def __init__(self, module: nn.Module, weights: dict[str, Tensor]) -> None:
        self._module, self._weights = module, weights

    def __enter__(self) -> None:
        self._own = {name: value.clone() for name, value in self._module.state_dict().items()}
        self._module.load_state_dict(self._weights)

    def __exit__(self, *error: object) -> None:
        self._module.load_state_dict(self._own)
