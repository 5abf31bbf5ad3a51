"""What is far away: attention of every place to a coarse map of the whole globe."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_TOKENS = (8, 16)  # of the coarse map


class GlobalAttention(nn.Module):
    """gamma softmax(q k') v: maps (B, C, lat, lon) to (B, out, lat, lon), the keys and values being means over boxes.

    gamma is learned, and 0.1 at the start, as in ClimODE; what it multiplies is zero then.
    """

    def __init__(self, channels: int, out: int, width: int = 16) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Conv2d(channels, width, 1) for _ in range(3))
        self.leave = nn.Conv2d(width, out, 1)
        self.gamma = nn.Parameter(torch.tensor(0.1))
        nn.init.zeros_(self.leave.weight)
        nn.init.zeros_(self.leave.bias)  # pyright: ignore[reportArgumentType] - it has one

    def forward(self, maps: Tensor) -> Tensor:
        rows, columns = (min(size, most) for size, most in zip(maps.shape[-2:], _TOKENS, strict=True))
        coarse = nn.functional.adaptive_avg_pool2d(maps, (rows, columns))
        query, key, value = (
            layer(seen).flatten(2).transpose(1, 2)
            for layer, seen in ((self.query, maps), (self.key, coarse), (self.value, coarse))
        )
        found = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.gamma * self.leave(found.transpose(1, 2).unflatten(2, maps.shape[-2:]))
