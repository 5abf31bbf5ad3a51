"""What the past says: attention over time, at each place by itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from greymatch.errors import GreymatchError


class TemporalEncoder(nn.Module):
    """z = softmax(q k') v over the last changes, q of the current state; maps (B, latents, lat, lon).

    Keys and values are of the changes from each past state to the next, with an embedding of their age, and not of the
    states themselves: beside the state where a way began, the current one would tell the velocity that is to be
    learned, and in a forecast its errors would drive themselves. Deterministic, as in the paper.
    """

    def __init__(self, fields: int, history: int, latents: int, heads: int) -> None:
        super().__init__()
        if latents % heads:
            raise GreymatchError(f"`net.latents` must be a multiple of `net.heads` = {heads}; got {latents}.")
        self.heads = heads
        self.query = nn.Conv2d(fields, latents, 1)
        self.key = nn.Conv2d(fields, latents, 1)
        self.value = nn.Conv2d(fields, latents, 1)
        self.age = nn.Parameter(0.02 * torch.randn(history, latents, 1, 1))
        self.out = nn.Conv2d(latents, latents, 1)

    def forward(self, state: Tensor, changes: Tensor) -> Tensor:
        """Of a state (B, C, lat, lon) and the changes (B, h, C, lat, lon) before, the latest last."""
        batch, seen = len(changes), changes.flatten(0, 1)
        key, value = (self._split(layer(seen), batch) for layer in (self.key, self.value))
        age = self.age.unflatten(1, (self.heads, -1))
        query = self.query(state).unflatten(1, (self.heads, -1))[:, None]
        match = (query * (key + age)).sum(3, keepdim=True) * query.shape[3] ** -0.5
        return self.out(((value + age) * match.softmax(1)).sum(1).flatten(1, 2))

    def _split(self, maps: Tensor, batch: int) -> Tensor:
        """(B h, latents, lat, lon) as (B, h, head, part, lat, lon)."""
        return maps.unflatten(0, (batch, -1)).unflatten(2, (self.heads, -1))
