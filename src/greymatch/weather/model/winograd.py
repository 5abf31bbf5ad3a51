"""Convolutions with a fourth of the products: Winograd's F(4 x 4, 3 x 3), around the globe.

Processors without half precision spend most of a training step in products. A tile of 6 x 6 places is changed by fixed
matrices so that a 3 x 3 kernel acts on each of its 36 numbers alone, and gives the 4 x 4 places in its middle: 36
products in place of 144. The result is that of the convolution, to the rounding of float32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from greymatch.weather.sphere import halo

TILE, REACH = 4, 6  # places that a tile gives, and that it sees


def suits(maps: Tensor) -> bool:
    """Whether maps (B, C, lat, lon) are made of whole tiles, and this is the way that is quick for them."""
    plain = maps.dtype == torch.float32 and not torch.is_autocast_enabled(maps.device.type)
    return plain and maps.device.type == "cpu" and not any(size % TILE for size in maps.shape[-2:])


def laid_out(maps: Tensor) -> Tensor:
    """(B, C, lat, lon) as (lat, lon, B, C): what belongs to a place lies together, and is moved in one piece."""
    return maps.permute(2, 3, 0, 1).contiguous()


def laid_back(maps: Tensor) -> Tensor:
    return maps.permute(2, 3, 0, 1).contiguous()


def convolved(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Maps (lat, lon, B, C) by a kernel (out, C, 3, 3), as `conv2d(halo(maps, 1, 1))` has it."""
    return _Winograd.apply(maps, weight, bias)


class _Winograd(torch.autograd.Function):
    """Y = A' [(G w G') (B' x B)] A, the product for each of the 36 numbers a matrix of channels."""

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows, columns, batch, channels = maps.shape
        ways, out = _ways(rows, columns), len(weight)
        tiles = maps.reshape(rows * columns, -1).index_select(0, ways.seen)
        kernel = (ways.kernel @ weight.reshape(-1, 9).T).view(-1, out, channels)
        seen = (ways.tile @ tiles.view(len(ways.tile), -1)).view(len(ways.tile), -1, channels)
        made = ways.result @ torch.bmm(seen, kernel.mT).view(len(ways.tile), -1)
        ctx.save_for_backward(seen, kernel)
        ctx.shape = maps.shape
        return made.view(rows * columns, -1).index_select(0, ways.made).view(rows, columns, batch, out) + bias

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *outs: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (seen, kernel), (rows, columns, *_), grad = ctx.saved_tensors, ctx.shape, outs[0]
        ways, out = _ways(rows, columns), grad.shape[-1]
        tiles = grad.reshape(rows * columns, -1).index_select(0, ways.unmade)
        made = (ways.result.T @ tiles.view(TILE**2, -1)).view(len(ways.tile), -1, out)
        weight = (ways.kernel.T @ torch.bmm(made.mT, seen).view(len(ways.tile), -1)).T.reshape(out, -1, 3, 3)
        maps = None
        if ctx.needs_input_grad[0]:
            back = ways.tile.T @ torch.bmm(made, kernel).view(len(ways.tile), -1)
            maps = _gathered(back.view(len(ways.seen), -1), ways).view(ctx.shape)
        return maps, weight, grad.sum((0, 1, 2))


class Ways(NamedTuple):
    """Matrices for tiles, kernels and results, flattened; and which place each row of `seen` tiles is of, and back."""

    tile: Tensor
    kernel: Tensor
    result: Tensor
    seen: Tensor
    made: Tensor
    unmade: Tensor
    sources: Tensor
    offsets: Tensor


def _gathered(tiles: Tensor, ways: Ways) -> Tensor:
    """The sum, for each place, of the rows that it was copied to."""
    return torch.nn.functional.embedding_bag(ways.sources, tiles, ways.offsets, mode="sum")


@lru_cache(maxsize=16)
def _ways(rows: int, columns: int) -> Ways:
    tile, kernel, result = (torch.kron(one, one).float() for one in _matrices())
    places = torch.arange(rows * columns, dtype=torch.float64).view(rows, columns)
    seen = _tiled(halo(places, 1, 1), REACH)
    unmade = _tiled(places, TILE)
    count = seen.bincount(minlength=rows * columns)
    return Ways(
        tile, kernel, result, seen, unmade.argsort(), unmade, seen.argsort(stable=True), count.cumsum(0) - count
    )


def _tiled(places: Tensor, size: int) -> Tensor:
    """Numbers of places, by place in the tile and then by tile."""
    tiles = places.unfold(0, size, TILE).unfold(1, size, TILE)
    return tiles.permute(2, 3, 0, 1).flatten().long()


def _matrices() -> tuple[Tensor, Tensor, Tensor]:
    """B', G and A' of Lavin and Gray (2016), from the points 0, 1, -1, 2, -2 and infinity."""
    tile = [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0]]
    tile += [[0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]]
    kernel = [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]  # times 24
    result = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
    return _whole(tile), _whole(kernel) / 24, _whole(result)


def _whole(numbers: list[list[int]]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)
