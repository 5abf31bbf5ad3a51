"""What takes the steps of a run: the objective, its optimiser and the mean of the weights, as processes share them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from inspect import unwrap
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from greymatch.halves import spared
from greymatch.settings import TrainingSettings
from greymatch.training.averaging import Averaging
from greymatch.training.bare import Weighted, weights_of
from greymatch.training.state import Learned

FUSED = ("cpu", "cuda")  # devices with an optimiser of one piece


class Engine(Protocol):
    """`objective` gives the loss of a batch, `optimizer` has the rates; a step is `forget`, `backward` for each part of
    the batch, `clip` and `step`."""

    objective: Any
    optimizer: Any

    def own(self, weights: Sequence[Tensor]) -> Sequence[Tensor]:
        """What has the gradients of these weights of the network."""
        ...

    def forget(self) -> None:
        """The gradients of the step before."""
        ...

    def backward(self, total: Tensor) -> None:
        """Add the gradients of this loss to those that are there."""
        ...

    def computing(self) -> AbstractContextManager[Any]:
        """Around every loss and its `backward`: in the precision asked for, by what works here."""
        ...

    def unshared(self, more: bool) -> AbstractContextManager[Any]:
        """Around a loss and its `backward`: if there are `more` to come, other processes need not be told yet."""
        ...

    def clip(self, limit: float, strict: bool) -> Tensor:
        """Cut the gradient to the norm `limit`; the norm that it had. `strict`: an error if that is no number."""
        ...

    def step(self, number: int, memory: float) -> None:
        """Move the weights for the time `number`, and their mean with them."""
        ...

    def averaged(self) -> dict[str, Tensor]:
        """The mean of the weights, whole."""
        ...

    def gather(self) -> Learned:
        """All that is learned, whole; the network of the run holds its weights."""
        ...

    def scatter(self, averaged: dict[str, Tensor]) -> None:
        """Take over what was put into what `gather` gave, and these averaged weights."""
        ...


class Whole:
    """Each process holds all weights; Fabric lets several of them share gradients, and converts precisions."""

    def __init__(self, network: nn.Module, objective: Any, settings: TrainingSettings, fabric: Any) -> None:
        self._network, self._fabric, self._whole = network, fabric, adamw(network.parameters(), settings)
        self.objective, self.optimizer = fabric.setup(objective, self._whole)
        self._averaging = Averaging(network.state_dict(), [name for name, _ in network.named_parameters()])
        self._averaged = self._averaging.first()
        self._precision = settings.precision

    def own(self, weights: Sequence[Tensor]) -> Sequence[Tensor]:
        return weights

    def forget(self) -> None:
        forget_gradients(self.optimizer)

    def backward(self, total: Tensor) -> None:
        self._fabric.backward(total)

    def computing(self) -> AbstractContextManager[Any]:
        return spared(self._precision, self._fabric.device.type)

    def unshared(self, more: bool) -> AbstractContextManager[Any]:
        return self._fabric.no_backward_sync(self.objective, more)

    def clip(self, limit: float, strict: bool) -> Tensor:
        return self._fabric.clip_gradients(self.objective, self.optimizer, max_norm=limit, error_if_nonfinite=strict)

    def step(self, number: int, memory: float) -> None:
        self.optimizer.step()
        self._averaging.update(self._averaged, number, memory)

    def averaged(self) -> dict[str, Tensor]:
        return self._averaged

    def gather(self) -> Learned:
        return Learned(self._network, self._whole, self._averaged)

    def scatter(self, averaged: dict[str, Tensor]) -> None:
        self._averaged = averaged


def engine(network: nn.Module, objective: Any, settings: TrainingSettings, fabric: Any, processes: int) -> Engine:
    """As the settings ask for, for so many processes."""
    if processes > 1 and settings.strategy == "fsdp":
        from greymatch.training.sharded import Sharded

        return Sharded(network, objective, settings, fabric)
    return Whole(network, objective, settings, fabric)


def forget_gradients(optimizer: Weighted) -> None:
    """As `zero_grad` does, but for what it tells a profiler, which takes longer."""
    for weight in weights_of(optimizer):
        weight.grad = None


class Adam(torch.optim.AdamW):
    """PyTorch's, called as it is: what keeps the compiler out of it loads the compiler first, which takes seconds."""

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    state_dict = unwrap(torch.optim.AdamW.state_dict)
    load_state_dict = unwrap(torch.optim.AdamW.load_state_dict)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        return unwrap(torch.optim.AdamW.step)(self, closure)


def adamw(weights: Iterable[Tensor], settings: TrainingSettings) -> torch.optim.AdamW:
    weights = list(weights)
    fused = all(weight.device.type in FUSED for weight in weights)
    return Adam(weights, lr=settings.rate, weight_decay=settings.decay, fused=fused)
