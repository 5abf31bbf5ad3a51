"""Convolutions that go around the globe."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from greymatch.weather.model import direct, tiled

silu = nn.functional.silu
_FEWEST_ROWS, _FEWEST_COLUMNS = 4, 8  # of the coarsest grid


class Layers(Protocol):
    """How layers are worked out: `direct`, or `tiled` where that is quicker. Both say the same, to rounding."""

    def entered(self, maps: Tensor, weight: Tensor, bias: Tensor, flips: Tensor, learned: slice) -> Tensor:
        """Maps (B, C, lat, lon) by a 3 x 3 kernel; a gradient is needed of those `learned` alone."""
        ...

    def same(self, maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """By a 3 x 3 kernel."""
        ...

    def halved(self, maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """By a 4 x 4 kernel, to half the grid."""
        ...

    def joined(self, fine: Tensor, coarse: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """By a 3 x 3 kernel, of fine maps and of coarse ones as if each of their cells were four."""
        ...


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

    @property
    def numbers(self) -> tuple[Tensor, Tensor]:
        """Weight and bias."""
        assert self.conv.bias is not None
        return self.conv.weight, self.conv.bias


class Block(nn.Module):
    """x + conv(act(conv(act(x)))), nothing but x at the start of training."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = SphereConv(width, width), SphereConv(width, width)
        quiet(self.second)


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
        return outs([self], maps, slice(None))[0]

    def onward(self, maps: Tensor, layers: Layers) -> Tensor:
        """From maps (B, width, lat, lon) that have entered."""
        passed = []
        for down in self.down:
            passed.append(silu(maps))
            maps = layers.halved(passed[-1], *down.numbers)
        for block in self.blocks:
            seen = layers.same(silu(maps), *block.first.numbers)
            maps = maps + layers.same(silu(seen), *block.second.numbers)
        for up, before in zip(reversed(self.up), reversed(passed), strict=True):
            maps = layers.joined(before, silu(maps), *up.numbers)
        return layers.same(silu(maps), *self.leave.numbers)


def outs(nets: Sequence[Net], maps: Tensor, learned: slice) -> list[Tensor]:
    """What each of several nets makes of the same maps (B, C, lat, lon), of which only those `learned` need a gradient.

    They enter all nets at once.
    """
    if not tiled.suits(maps, len(nets[0].down)):
        return _outs(nets, maps, learned, direct)
    parts = [_outs(nets, part, learned, tiled) for part in maps.split(tiled.TOGETHER)]
    return parts[0] if len(parts) == 1 else [torch.cat(found) for found in zip(*parts, strict=True)]


def _outs(nets: Sequence[Net], maps: Tensor, learned: slice, layers: Layers) -> list[Tensor]:
    weight, bias = (torch.cat(one) for one in zip(*(net.enter.numbers for net in nets), strict=True))
    entered = layers.entered(maps, weight, bias, nets[0].enter.flips.to(maps), learned)
    widths = [net.enter.conv.out_channels for net in nets]
    return [net.onward(some, layers) for net, some in zip(nets, entered.split(widths, 1), strict=True)]


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
    for numbers in layer.numbers:
        nn.init.zeros_(numbers)
