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
        """Of a state (B, C, lat, lon) and the changes (B, h, C, lat, lon) before, the latest last.

        Keys and values are linear in the changes, so they are not made for each of those: q (K c + age) is (K' q) c + q
        age, and the mean of values is the value of the mean change, a fraction of the maps.
        """
        asked, by_age = self._asked(state)
        parts = list(zip(asked.unbind(2), changes.unbind(2), strict=True))
        match = by_age
        for wanted, change in parts:
            match = torch.addcmul(match, wanted[:, :, None], change[:, None])
        weight = match.softmax(2)
        mean = torch.stack([(weight * change[:, None]).sum(2) for _, change in parts], 2)
        found = self._valued(mean, weight)
        std = None if self.width is None else nn.functional.softplus(self.width(found)) + _LEAST
        return Latent(self.out(found), std)

    def _asked(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """What a head seeks in changes (B, heads, C, lat, lon), and how each age suits it (B, heads, h, lat, lon)."""
        query = self.query(state)
        scale = (query.shape[1] // self.heads) ** -0.5
        key = self._by_head(self.key.weight.flatten(1))  # (heads, part, C)
        age = self._by_head(self._aged(self.key))  # (heads, part, h)
        both = _grouped(query, torch.cat([key, age], 2) * scale)
        asked, by_age = both.split([key.shape[2], age.shape[2]], 2)
        return asked, by_age

    def _valued(self, mean: Tensor, weight: Tensor) -> Tensor:
        """Values (B, latents, lat, lon) of mean changes (B, heads, C, ...) and the weights (B, heads, h, ...)."""
        value = self._by_head(self.value.weight.flatten(1))
        age = self._by_head(self._aged(self.value))  # weights sum to 1: so does the bias
        return _grouped(torch.cat([mean, weight], 2).flatten(1, 2), torch.cat([value, age], 2).mT).flatten(1, 2)

    def _aged(self, layer: nn.Conv2d) -> Tensor:
        """What each age adds (latents, h) to what a layer makes of a change."""
        assert layer.bias is not None
        return (self.age.flatten(1) + layer.bias).T

    def _by_head(self, weight: Tensor) -> Tensor:
        return weight.unflatten(0, (self.heads, -1))


def _grouped(maps: Tensor, weight: Tensor) -> Tensor:
    """Maps (B, heads, out, lat, lon) of maps (B, heads n, lat, lon), by a matrix (heads, n, out) for each head."""
    found = torch.matmul(weight.mT.to(maps.dtype), maps.unflatten(1, (len(weight), -1)).flatten(3))
    return found.unflatten(3, maps.shape[-2:])
