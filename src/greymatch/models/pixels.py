"""A few points of a grid in place of all: what a pointwise residual says there costs so much less."""

from __future__ import annotations

import torch
from torch import Tensor


def some_pixels(grid: torch.Size, count: int, device: torch.device) -> Tensor:
    """Numbers of `count` cells, or of all if there are no more, the same ones whenever the grid is the same."""
    order = torch.randperm(grid.numel(), generator=torch.Generator().manual_seed(0))
    return order[:count].to(device)


def at_pixels(field: Tensor, pixels: Tensor, axes: int) -> Tensor:
    """A field (..., *grid) at those cells, as (..., P, 1...) with as many axes."""
    chosen = field.flatten(field.ndim - axes)[..., pixels]
    return chosen.reshape(*chosen.shape, *(1,) * (axes - 1))
