"""Weights in parts: each process keeps its own part of them, of their gradients, their mean and their optimiser."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from greymatch.errors import GreymatchError
from greymatch.halves import spared
from greymatch.settings import TrainingSettings
from greymatch.training.averaging import Averaging
from greymatch.training.engine import adamw, forget_gradients
from greymatch.training.state import Learned

PRECISIONS = ("32-true", "bf16-mixed")


class Sharded:
    """PyTorch's fully sharded data parallel training, of the objective as one piece: all weights come together for a
    step, and lie in parts between steps.

    The network of the run stays as it is and learns nothing; it is given whole weights to be judged and kept.
    """

    def __init__(self, network: nn.Module, objective: nn.Module, settings: TrainingSettings, fabric: Any) -> None:
        if settings.precision not in PRECISIONS:
            raise GreymatchError(
                f"`training.precision` must be one of {list(PRECISIONS)} with fsdp; got {settings.precision!r}."
            )
        self._network, self._whole, self._fabric = network, adamw(network.parameters(), settings), fabric
        self._precision = settings.precision
        _same_everywhere(network)
        copies: dict[int, Any] = {}
        self._objective = copy.deepcopy(objective, copies)
        self._learner: nn.Module = copies[id(network)]
        for weight in self._learner.parameters():
            weight.data = weight.data.contiguous()
        mesh = init_device_mesh(fabric.device.type, (fabric.world_size,))
        empty = {weight for weight in self._objective.parameters() if not weight.numel()}
        self._sharded = fully_shard(self._objective, mesh=mesh, ignored_params=empty)
        self.optimizer = adamw([weight for weight in self._learner.parameters() if weight.numel()], settings)
        self._mean = {name: value.clone() for name, value in self._learner.state_dict().items()}

    def objective(self, *batch: Any) -> Any:
        with self._fabric.autocast():
            return self._objective(*batch)

    def own(self, weights: Sequence[Tensor]) -> Sequence[Tensor]:
        return [mine for its, mine in self._pairs() if any(its is weight for weight in weights)]

    def forget(self) -> None:
        forget_gradients(self.optimizer)

    def backward(self, total: Tensor) -> None:
        total.backward()

    def computing(self) -> AbstractContextManager[None]:
        return spared(self._precision, self._fabric.device.type)

    @contextmanager
    def unshared(self, more: bool) -> Iterator[None]:
        self._sharded.set_requires_gradient_sync(not more)
        yield

    def clip(self, limit: float, strict: bool) -> Tensor:
        weights = [weight for _, weight in self._pairs() if weight.grad is not None]
        norm = _whole(nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None]))
        if strict and not bool(norm.isfinite()):
            for its, mine in self._pairs():
                its.grad = None if mine.grad is None else _whole(mine.grad)
            raise RuntimeError("the norm of the gradient is not finite")
        nn.utils.clip_grads_with_norm_(weights, limit, norm)
        return norm

    def step(self, number: int, memory: float) -> None:
        self.optimizer.step()
        Averaging(_parts(self._learner.state_dict())).update(_parts(self._mean), number, memory)

    def averaged(self) -> dict[str, Tensor]:
        return {name: _whole(value) for name, value in self._mean.items()}

    def gather(self) -> Learned:
        self._network.load_state_dict({name: _whole(value) for name, value in self._learner.state_dict().items()})
        for its, mine in self._pairs():
            slots = self.optimizer.state.get(mine, {})
            self._whole.state[its] = {slot: _whole(value) for slot, value in slots.items()}
        return Learned(self._network, self._whole, self.averaged())

    @torch.no_grad()
    def scatter(self, averaged: dict[str, Tensor]) -> None:
        for target, source in ((self._learner.state_dict(), self._network.state_dict()), (self._mean, averaged)):
            for name, value in target.items():
                value.copy_(_alike(source[name], value))
        for its, mine in self._pairs():
            slots = self._whole.state.pop(its, {})
            self.optimizer.state[mine] = {
                slot: _alike(value, mine) if value.shape == its.shape else value for slot, value in slots.items()
            }

    def _pairs(self) -> list[tuple[nn.Parameter, nn.Parameter]]:
        """Each weight of the network, and the same one in parts."""
        both = zip(self._network.parameters(), self._learner.parameters(), strict=True)
        return [(its, mine) for its, mine in both if its.numel()]


def _same_everywhere(network: nn.Module) -> None:
    """As the first process has it."""
    for value in network.state_dict().values():
        sent = value.contiguous()
        torch.distributed.broadcast(sent, 0)
        value.copy_(sent)


def _whole(value: Tensor) -> Tensor:
    return value.full_tensor() if isinstance(value, DTensor) else value


def _alike(value: Tensor, like: Tensor) -> Tensor:
    """In parts as `like` is; every process has all of `value` and need not be sent any."""
    if not isinstance(like, DTensor):
        return value.to(like.device)
    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def _parts(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What of them is here."""
    return {name: value.to_local() if isinstance(value, DTensor) else value for name, value in tensors.items()}
