"""Small building blocks of the nets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from greymatch.errors import GreymatchError

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d


def mlp(sizes: list[int]) -> nn.Sequential:
    """Linear layers with SiLU between them and after the last."""
    layers: list[nn.Module] = []
    for inner, outer in itertools.pairwise(sizes):
        layers += [nn.Linear(inner, outer), nn.SiLU()]
    return nn.Sequential(*layers)


def through(layers: Iterable[nn.Module], columns: Tensor) -> Tensor:
    """Layers of an `mlp` at points that come last (C, points): CPUs learn narrow layers several times as fast so."""
    for layer in layers:
        linear = isinstance(layer, nn.Linear)
        columns = torch.addmm(layer.bias[:, None], layer.weight, columns) if linear else layer(columns)
    return columns


def convolution(axes: int, inner: int, outer: int, kernel: int, padding: str, stride: int = 1) -> Convolution:
    """A convolution over 1, 2 or 3 grid axes that keeps their size, or divides it by `stride`."""
    kinds = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
    if axes not in kinds:
        raise GreymatchError(f"kind 'conv' needs physics with 1 to 3 grid axes; got {axes}. Use kind 'mlp'.")
    if kernel % 2 == 0:
        raise GreymatchError(f"`residual.kernel` must be odd, so that it has a centre; got {kernel}. Use {kernel + 1}.")
    mode = padding if kernel > 1 else "zeros"  # nothing to pad: do not copy the field for it
    return kinds[axes](inner, outer, kernel, stride, padding=kernel // 2, padding_mode=mode)


class GridLayer(nn.Module):
    """A convolution over a grid that keeps its size.

    One of size 1 is taken for the product of matrices that it is, which CPUs do several times as fast.
    """

    def __init__(self, axes: int, inner: int, outer: int, kernel: int, padding: str) -> None:
        super().__init__()
        made = convolution(axes, inner, outer, kernel, padding)
        assert made.bias is not None, "every layer has one"
        self.weight, self.bias = made.weight, made.bias
        self.padding = "constant" if padding == "zeros" else padding

    def forward(self, field: Tensor, beside: Tensor | None = None) -> Tensor:
        """A field (B, C, *grid); the last channels may be given `beside` it, (B, E, *grid or ones), for neighbours
        not to be seen there: then they shift the answer, at once for all the grid if they are the same on it."""
        if beside is None:
            return self._convolved(field, self.weight, self.bias[None])
        own, others = self.weight.split([field.shape[1], beside.shape[1]], 1)
        others = others.flatten(2).sum(2)
        if beside.shape[2:].numel() == 1:
            return self._convolved(field, own, nn.functional.linear(beside.flatten(1), others, self.bias))
        shift = others.reshape(*others.shape, *(1,) * (field.ndim - 2))
        return self._convolved(field, own, self.bias[None]) + self._convolved(beside, shift, self.bias.new_zeros(1, 1))

    def _convolved(self, field: Tensor, weight: Tensor, shift: Tensor) -> Tensor:
        axes, kernel = field.ndim - 2, weight.shape[-1]
        if kernel == 1:
            weights = weight.flatten(1).expand(len(field), -1, -1)
            return torch.baddbmm(shift[..., None], weights, field.flatten(2)).unflatten(2, field.shape[2:])
        padded = nn.functional.pad(field, (kernel // 2,) * (2 * axes), mode=self.padding)
        kinds = {1: nn.functional.conv1d, 2: nn.functional.conv2d, 3: nn.functional.conv3d}
        return kinds[axes](padded, weight) + shift.reshape(*shift.shape, *(1,) * axes)


class ZeroLinear(nn.Module):
    """A linear layer that starts as the zero function, and may have no outputs at all."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outer, inner))
        self.bias = nn.Parameter(torch.zeros(outer))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight, self.bias)


def zeroed(layer: nn.Module) -> nn.Module:
    """The layer with all parameters set to zero, so that a net starts as the zero function."""
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer
