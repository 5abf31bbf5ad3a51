"""Convolutions with a fraction of the products: Winograd's F(4 x 4, 3 x 3) and F(4 x 4, 2 x 2), around the globe.

Processors without half precision spend most of a training step in products. A tile of 6 x 6 places is changed by fixed
matrices so that a 3 x 3 kernel acts on each of its 36 numbers alone, and gives the 4 x 4 places in its middle: 36
products in place of 144. The result is that of the convolution, to the rounding of float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from greymatch.weather.model.tiling import SAME, Kind, tiling


def convolved(
    maps: Tensor, weight: Tensor, bias: Tensor | None = None, kind: Kind = SAME, asked: slice = slice(None)
) -> Tensor:
    """Maps (B, C, lat, lon), with channels last in memory, by a kernel (out, C, ...).

    The channels `asked` alone have a gradient.
    """
    found = _Winograd.apply(maps.permute(0, 2, 3, 1), weight, bias, kind, asked)
    return found.permute(0, 3, 1, 2)


class _Winograd(torch.autograd.Function):
    """Y = A' [(G w G') (B' x B)] A for maps (B, lat, lon, C), the product for each of the numbers a matrix of channels.

    Numbers of tiles are (tiles, numbers, C) where sums of places make them, and (numbers, tiles, C) where products do.
    """

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, bias: Tensor | None, kind: Kind, asked: slice) -> Tensor:
        batch, *grid, channels = maps.shape
        tiles = tiling(kind, batch, *grid)
        seen = tiles.seen.of(maps.reshape(-1, channels)).view(-1, kind.count, kind.between * channels)
        kernel = _kernel(weight, kind)
        ctx.save_for_backward(seen, kernel)
        ctx.shape, ctx.size, ctx.kind, ctx.asked = maps.shape, weight.shape, kind, asked
        made = torch.bmm(seen.transpose(0, 1), kernel.mT)
        if bias is not None:
            kind.everywhere(made, 0).add_(bias)
        return tiles.made.of(made.flatten(0, 1)).view(batch, *tiles.grid, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *outs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (seen, kernel), (batch, *grid, _), grad, kind = ctx.saved_tensors, ctx.shape, outs[0], ctx.kind
        tiles, out = tiling(kind, batch, *grid), grad.shape[-1]
        made = tiles.unmade.of(grad.reshape(-1, out)).view(-1, kind.count, out)
        bias = kind.everywhere(made, 1).sum((0, 1, 2)) if ctx.needs_input_grad[2] else None
        made = made.transpose(0, 1)
        weight = _unkernel(torch.bmm(made.mT, seen.transpose(0, 1)), kind, ctx.size)
        maps = _unseen(ctx, made, kernel) if ctx.needs_input_grad[0] else None
        return maps, weight, bias, None, None


def _kernel(weight: Tensor, kind: Kind) -> Tensor:
    """(numbers, out, between C) of weights (out, C, ...)."""
    out, channels, *_ = weight.shape
    found = kind.kernel @ weight.permute(2, 3, 0, 1).reshape(kind.kernel.shape[1], -1)
    return found.view(kind.count, kind.between, out, channels).transpose(1, 2).reshape(kind.count, out, -1)


def _unkernel(grad: Tensor, kind: Kind, size: torch.Size) -> Tensor:
    out, channels, *places = size
    numbers = grad.view(kind.count, out, kind.between, channels).transpose(1, 2).reshape(len(kind.kernel), -1)
    return (kind.kernel.T @ numbers).view(*places, out, channels).permute(2, 3, 0, 1)


def _unseen(ctx: Any, made: Tensor, kernel: Tensor) -> Tensor:
    """The gradient of the maps, from that of the numbers that products made."""
    batch, *grid, _ = ctx.shape
    tiles = tiling(ctx.kind, batch, *grid)
    if ctx.asked == slice(None):
        return tiles.unseen.of(torch.bmm(made, kernel).view(-1, ctx.shape[-1])).view(ctx.shape)
    found, some = made.new_zeros(ctx.shape), kernel[:, :, ctx.asked]
    numbers = torch.bmm(made, some).flatten(0, 1)
    found[..., ctx.asked] = tiles.unseen.of(numbers).view(batch, *grid, -1)
    return found
