"""What the past says: attention over time, at each place by itself."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.errors import GreymatchError

_LEAST = 1e-3  # standard deviation of a latent


class Latent(NamedTuple):
    """The law N(mean, std) of the latents (B, latents, lat, lon); without `std` they are their mean."""

    mean: Tensor
    std: Tensor | None = None

    def drawn(self, noise: Tensor | None) -> Tensor:
        """mean + std noise; the mean itself without noise."""
        return self.mean if self.std is None or noise is None else self.mean + self.std * noise.to(self.mean)

    def divergence(self) -> Tensor:
        """KL from N(0, 1) at each place, in the mean over batch and map; 0 where nothing is drawn."""
        if self.std is None:
            return self.mean.new_zeros(())
        excess = self.mean.square() + self.std.square() - 1 - 2 * self.std.log()
        return 0.5 * excess.sum(1).mean()


class TemporalEncoder(nn.Module):
    """z = softmax(q k') v over the last changes, q of the current state; maps (B, latents, lat, lon).

    Keys and values are of the changes from each past state to the next, with an embedding of their age, and not of the
    states themselves: beside the state where a way began, the current one would tell the velocity that is to be
    learned, and in a forecast its errors would drive themselves. Deterministic, as in the paper, unless `variational`:
    then these are the means of a normal law, and its standard deviations are learned beside them.
    """

    def __init__(self, fields: int, history: int, latents: int, heads: int, variational: bool = False) -> None:
        super().__init__()
        if latents % heads:
            raise GreymatchError(f"`net.latents` must be a multiple of `net.heads` = {heads}; got {latents}.")
        self.heads = heads
        self.query = nn.Conv2d(fields, latents, 1)
        self.key = nn.Conv2d(fields, latents, 1)
        self.value = nn.Conv2d(fields, latents, 1)
        self.age = nn.Parameter(0.02 * torch.randn(history, latents, 1, 1))
        self.out = nn.Conv2d(latents, latents, 1)
        self.width = nn.Conv2d(latents, latents, 1) if variational else None

    def forward(self, state: Tensor, changes: Tensor) -> Latent:
        """Of a state (B, C, lat, lon) and the changes (B, h, C, lat, lon) before, the latest last."""
        batch, seen = len(changes), changes.flatten(0, 1)
        key, value = (self._split(layer(seen), batch) for layer in (self.key, self.value))
        age = self.age.unflatten(1, (self.heads, -1))
        query = self.query(state).unflatten(1, (self.heads, -1))[:, None]
        match = (query * (key + age)).sum(3, keepdim=True) * query.shape[3] ** -0.5
        found = ((value + age) * match.softmax(1)).sum(1).flatten(1, 2)
        std = None if self.width is None else nn.functional.softplus(self.width(found)) + _LEAST
        return Latent(self.out(found), std)

    def _split(self, maps: Tensor, batch: int) -> Tensor:
        """(B h, latents, lat, lon) as (B, h, head, part, lat, lon)."""
        return maps.unflatten(0, (batch, -1)).unflatten(2, (self.heads, -1))
