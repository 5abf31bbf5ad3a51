"""Slopes of a Runge-Kutta step for many members at once, and their sums."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


def columns(state: Tensor) -> Tensor:
    """The same (B, N), with what is of the same kind side by side in memory if members have fewer numbers than there
    are members: what broadcasts over these is then several times as fast."""
    return state.T.contiguous().T if state.shape[1] < state.shape[0] else state.contiguous()


def room(count: int, like: Tensor) -> Tensor:
    """For so many (B, N), each in memory as the other is."""
    if like.is_contiguous():
        return like.new_empty(count, *like.shape)
    return like.new_empty(count, *like.T.shape).mT


def weighted(weights: tuple[float, ...], slopes: Tensor) -> Tensor:
    known = slopes[: len(weights)]
    rows = known if known.is_contiguous() else known.mT
    found = (numbers(weights, rows.dtype, rows.device) @ rows.flatten(1)).view(rows.shape[1:])
    return found if rows is known else found.T


@cache
def numbers(weights: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # they are kept, and who asks next may want a gradient
        return torch.tensor(weights, dtype=dtype, device=device)
