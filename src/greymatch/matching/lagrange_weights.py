"""Values and slopes of the polynomial through some nodes, at a place that is none of them."""

from __future__ import annotations

import torch
from torch import Tensor


def value_weights(offsets: Tensor) -> Tensor:
    """w with x(0) = sum_j w_j x_j, for nodes at `offsets` (..., j) from 0: w_j = prod_m u_m / (u_m - u_j), m not j."""
    weights = torch.ones_like(offsets)
    for shift in range(1, offsets.shape[-1]):
        other = offsets.roll(shift, -1)
        weights = weights * (other / (other - offsets))
    return weights


def slope_weights(offsets: Tensor) -> Tensor:
    """w with x'(0) = sum_j w_j x_j: those of the value times -sum_m 1 / u_m, m not j; no node may lie at 0."""
    inverse = offsets.reciprocal()
    return value_weights(offsets) * (inverse - inverse.sum(-1, keepdim=True))
