"""Layers by torch's own convolutions, for maps (B, C, lat, lon)."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.weather.model.rising import joined as joined
from greymatch.weather.sphere import halo


def entered(maps: Tensor, weight: Tensor, bias: Tensor, flips: Tensor, learned: slice) -> Tensor:
    return torch.conv2d(halo(maps, 1, 1, flips), weight, bias)


def same(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.conv2d(halo(maps, 1, 1), weight, bias)


def halved(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.conv2d(halo(maps, 1, 1), weight, bias, stride=2)
