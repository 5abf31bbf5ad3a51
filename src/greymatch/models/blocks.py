"""Small building blocks of the nets."""

from __future__ import annotations

from torch import nn


def mlp(sizes: list[int]) -> nn.Sequential:
    """Linear layers with SiLU between them and after the last."""
    layers: list[nn.Module] = []
    for inner, outer in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(inner, outer), nn.SiLU()]
    return nn.Sequential(*layers)


def convolution(axes: int, inner: int, outer: int, kernel: int, padding: str) -> nn.Module:
    """A same-size convolution over 1, 2 or 3 grid axes."""
    kind = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[axes]
    return kind(inner, outer, kernel, padding=kernel // 2, padding_mode=padding)


def zeroed(layer: nn.Module) -> nn.Module:
    """The layer with all parameters set to zero, so that a net starts as the zero function."""
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer
