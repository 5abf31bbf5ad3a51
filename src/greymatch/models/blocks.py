"""Small building blocks of the nets."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from greymatch.errors import GreymatchError


def mlp(sizes: list[int]) -> nn.Sequential:
    """Linear layers with SiLU between them and after the last."""
    layers: list[nn.Module] = []
    for inner, outer in itertools.pairwise(sizes):
        layers += [nn.Linear(inner, outer), nn.SiLU()]
    return nn.Sequential(*layers)


def convolution(axes: int, inner: int, outer: int, kernel: int, padding: str, stride: int = 1) -> nn.Module:
    """A convolution over 1, 2 or 3 grid axes that keeps their size, or divides it by `stride`."""
    kinds = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
    if axes not in kinds:
        raise GreymatchError(f"kind 'conv' needs physics with 1 to 3 grid axes; got {axes}. Use kind 'mlp'.")
    if kernel % 2 == 0:
        raise GreymatchError(f"`residual.kernel` must be odd, so that it has a centre; got {kernel}. Use {kernel + 1}.")
    mode = padding if kernel > 1 else "zeros"  # nothing to pad: do not copy the field for it
    return kinds[axes](inner, outer, kernel, stride, padding=kernel // 2, padding_mode=mode)


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
