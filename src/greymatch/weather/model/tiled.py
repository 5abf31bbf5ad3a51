"""Layers by tiles, for maps (B, C, lat, lon) with channels last in memory: see `winograd`."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.weather.model import direct
from greymatch.weather.model.tiling import DOUBLED, EDGED, HALVED, SAME, TILE, Kind
from greymatch.weather.model.winograd import convolved
from greymatch.weather.sphere import halo

TOGETHER = 32  # maps at most, as each has its own sums, which are kept
FEWEST = 1000  # products of channels for each tile of a way; to change the tiles of fewer costs more than it saves


def suits(maps: Tensor, halvings: int) -> bool:
    """Whether maps (B, C, lat, lon) are of whole tiles on all grids, and this is the way that is quick for them."""
    plain = maps.dtype == torch.float32 and not torch.is_autocast_enabled(maps.device.type)
    whole = not any(size % (TILE << halvings) for size in maps.shape[-2:])
    return plain and maps.device.type == "cpu" and whole


def _pays(weight: Tensor, kind: Kind) -> bool:
    return weight.shape[0] * weight.shape[1] * kind.ways**2 >= FEWEST


def entered(maps: Tensor, weight: Tensor, bias: Tensor, flips: Tensor, learned: slice) -> Tensor:
    return convolved(halo(maps, 1, 1, flips), weight, bias, EDGED, learned)


def same(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return convolved(maps, weight, bias) if _pays(weight, SAME) else direct.same(maps, weight, bias)


def halved(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return convolved(maps, weight, bias, HALVED) if _pays(weight, HALVED) else direct.halved(maps, weight, bias)


def joined(fine: Tensor, coarse: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    own = fine.shape[1]
    return same(fine, weight[:, :own], bias) + convolved(coarse, weight[:, own:], None, DOUBLED)
