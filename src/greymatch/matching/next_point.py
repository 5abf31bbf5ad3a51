"""Trajectory flow matching's objective: from a point on a bridge to the next observation, name that observation."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.models.features import Features
from greymatch.models.memory import Memory
from greymatch.models.network import Network
from greymatch.together import normal, over_all, uniform


class Pair(NamedTuple):
    """B consecutive observations: the memory that ends with the first, and the next one after `steps` (B,).

    `target` (B, S, *grid) is in units of the spread and counts where `seen`; `ahead` (B, 2, U) are the inputs in the
    middle and at the end of the interval, `rows` (B,) say whose pair it is.
    """

    features: Features
    target: Tensor
    seen: Tensor
    steps: Tensor
    ahead: Tensor
    rows: Tensor


class NextPointLoss(NamedTuple):
    """`errors` (S,) are mean squares of the slope to the next point, relative to the data's velocities."""

    total: Tensor
    matching: Tensor
    errors: Tensor


class NextPointObjective(nn.Module):
    """L = E |x_next(x_tau, tau, memory) - x_1|^2, x_tau ~ N((1 - tau) x_0 + tau x_1, sigma^2 tau (1 - tau)), tau ~ U.

    Each state is weighed by the error that recent batches left, as in all objectives here. Not for learning what
    differs from one trajectory to another over longer than the memory: it infers no latents.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.settings = network.settings.memory

    @property
    def channels(self) -> int:
        return len(self.network.physics.states)

    def counts(self, pair: Pair) -> Tensor:
        """How many numbers of each state (S,) were observed."""
        return pair.seen.movedim(1, 0).flatten(1).sum(1)

    def forward(
        self, pair: Pair, noise: Tensor, generator: torch.Generator | None, counts: Tensor | None = None
    ) -> NextPointLoss:
        memory = Memory.unpacked(pair.features)
        target = torch.where(pair.seen, pair.target, memory.last)
        moving, part = bridged(memory.last, target, self.settings.noise, generator)
        named = self.network.next_point(moving, part, pair.steps, memory, pair.ahead)
        unit = self.network.next_point.unit.reshape(-1, *(1,) * (named.ndim - 2))
        wrong = ((named - target) / (unit * _wide(pair.steps, named))).square() * pair.seen
        seen = over_all(self.counts(pair)) if counts is None else counts
        errors = wrong.movedim(1, 0).flatten(1).sum(1) / seen.masked_fill(seen == 0, 1)
        fit = 0.5 * (errors / noise).sum()
        return NextPointLoss(fit, fit, errors.detach())


def bridged(start: Tensor, end: Tensor, sigma: float, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Points (B, S, *grid) of Brownian bridges from `start` to `end`, and which part (B,) of the way they are."""
    part = uniform((len(start),), generator, start, start.dtype)
    noise = normal(start.shape, generator, start)
    tau = _wide(part, start)
    return torch.lerp(start, end, tau) + sigma * (tau * (1 - tau)).sqrt() * noise, part


def _wide(part: Tensor, like: Tensor) -> Tensor:
    return part.reshape(-1, *(1,) * (like.ndim - 1))
