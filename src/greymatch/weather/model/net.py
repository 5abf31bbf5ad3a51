"""Convolutions that go around the globe."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from greymatch.weather.model import winograd
from greymatch.weather.model.rising import joined
from greymatch.weather.sphere import halo

_FEWEST_ROWS, _FEWEST_COLUMNS = 4, 8  # of the coarsest grid


class SphereConv(nn.Module):
    """A convolution whose neighbours are those on the sphere: (B, C, lat, lon) in and out, or half the grid.

    `flips` (C,) is -1 for the channels that are components of a vector, which turn about beyond a pole.
    """

    flips: Tensor

    def __init__(self, channels: int, out: int, halve: bool = False, flips: Tensor | None = None) -> None:
        super().__init__()
        # an even kernel, so that the middles of the coarse cells lie between those of the fine ones
        self.conv = nn.Conv2d(channels, out, 4 if halve else 3, stride=2 if halve else 1)
        self.register_buffer("flips", torch.ones(channels) if flips is None else flips, persistent=False)
        self.scalar = flips is None

    @property
    def bias(self) -> Tensor:
        found = self.conv.bias
        assert found is not None
        return found

    def forward(self, maps: Tensor) -> Tensor:
        return self.conv(halo(maps, 1, 1, 1.0 if self.scalar else self.flips.to(maps)))

    def by_tiles(self, maps: Tensor) -> Tensor:
        """The same for maps (lat, lon, B, C) of scalars, see `winograd`."""
        return winograd.convolved(maps, self.conv.weight, self.bias)


class Block(nn.Module):
    """x + conv(act(conv(act(x)))), nothing but x at the start of training."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = SphereConv(width, width), SphereConv(width, width)
        quiet(self.second)

    def forward(self, maps: Tensor) -> Tensor:
        silu = nn.functional.silu
        return maps + self.second(silu(self.first(silu(maps))))

    def by_tiles(self, maps: Tensor) -> Tensor:
        silu = nn.functional.silu
        return maps + self.second.by_tiles(silu(self.first.by_tiles(silu(maps))))


class Net(nn.Module):
    """Maps to maps: down to coarser grids, blocks there, and up again with what was seen on the way.

    Nothing is normalised over a batch or a map, so that a forecast does not depend on what it is made with. It says
    zero at the start of training.
    """

    def __init__(self, flips: Tensor, out: int, width: int, depth: int, halvings: int) -> None:
        super().__init__()
        widths = [width * (1 + (level > 0)) for level in range(halvings + 1)]
        self.enter = SphereConv(len(flips), width, flips=flips)
        self.down: Any = nn.ModuleList(SphereConv(a, b, halve=True) for a, b in pairwise(widths))
        self.blocks: Any = nn.Sequential(*(Block(widths[-1]) for _ in range(depth)))
        self.up: Any = nn.ModuleList(SphereConv(a + b, a) for a, b in pairwise(widths))
        self.leave = SphereConv(width, out)
        quiet(self.leave)

    def forward(self, maps: Tensor) -> Tensor:
        return self.onward(self.enter(maps))

    def onward(self, maps: Tensor) -> Tensor:
        """From maps (B, width, lat, lon) that have entered."""
        silu, passed = nn.functional.silu, []
        for down in self.down:
            passed.append(maps)
            maps = down(silu(maps))
        maps = self._through_blocks(maps)
        for up, before in zip(reversed(self.up), reversed(passed), strict=True):
            maps = joined(silu(before), silu(maps), up.conv.weight, up.bias)
        return self.leave(silu(maps))

    def _through_blocks(self, maps: Tensor) -> Tensor:
        if not winograd.suits(maps):
            return self.blocks(maps)
        maps = winograd.laid_out(maps)
        for block in self.blocks:
            maps = block.by_tiles(maps)
        return winograd.laid_back(maps)


def enter(nets: Sequence[Net], given: Tensor, learned: Tensor, place: int) -> list[Tensor]:
    """Maps (B, width, lat, lon) as each of the nets has them first: of maps that are `given`, with those `learned`
    in between at `place`.

    Edges are laid around them once for all nets, and no gradient is asked of what is given.
    """
    inside = slice(place, place + learned.shape[1])
    flips, weight = nets[0].enter.flips.to(given), torch.cat([net.enter.conv.weight for net in nets])
    bias = torch.cat([net.enter.bias for net in nets])
    seen = torch.conv2d(halo(given, 1, 1, _without(flips, inside, 0)), _without(weight, inside, 1), bias)
    seen = seen + torch.conv2d(halo(learned, 1, 1, flips[inside]), weight[:, inside])
    return list(seen.split([len(net.enter.conv.weight) for net in nets], 1))


def _without(values: Tensor, inside: slice, dim: int) -> Tensor:
    after = values.shape[dim] - inside.stop
    return torch.cat([values.narrow(dim, 0, inside.start), values.narrow(dim, inside.stop, after)], dim)


def possible_halvings(asked: int, rows: int, columns: int) -> int:
    """As many as the grid allows, up to those asked for."""
    found = 0
    while found < asked and rows % 2 == 0 and rows // 2 >= _FEWEST_ROWS and columns // 2 >= _FEWEST_COLUMNS:
        if columns % 4:
            break
        rows, columns, found = rows // 2, columns // 2, found + 1
    return found


def quiet(layer: SphereConv) -> None:
    """Let a layer say zero."""
    nn.init.zeros_(layer.conv.weight)
    nn.init.zeros_(layer.bias)
