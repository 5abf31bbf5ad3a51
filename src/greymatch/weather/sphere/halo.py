"""What lies beyond the edges of the grid: the far side of the globe."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.weather.sphere.rows import check_field


def halo(field: Tensor, rows: int, columns: int, flips: Tensor | float = 1.0) -> Tensor:
    """A field (..., lat, lon) with `rows` more to the south and north, and `columns` more to the west and east.

    ```python
    seen = conv(halo(fields, 1, 1))                        # (B, C, lat, lon) in and out, for a 3 x 3 kernel
    seen = conv(halo(fields, 1, 1, torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0])))   # z, t, t2m and the winds u, v
    ```

    Whoever walks on over a pole comes down the opposite meridian: the rows beyond are the last ones in reverse, half
    way round. There east and north have turned about, so that components of a vector change their sign: `flips` is -1
    for those and 1 for the rest, one number or one for each channel (C,).

    Not for angles or for the components of tensors of higher rank.
    """
    check_field(field)
    if not 0 <= rows <= field.shape[-2] or not 0 <= columns <= field.shape[-1]:
        raise GreymatchError(
            f"`rows` and `columns` must lie between 0 and those of the grid, {tuple(field.shape[-2:])}; "
            f"got {rows} and {columns}."
        )
    return _Halo.apply(field, rows, columns, _per_channel(flips))


class _Halo(torch.autograd.Function):
    """With a gradient of its own: that of slices and concatenation makes a whole map of zeros for every edge, which
    took two fifths of the time of training."""

    @staticmethod
    def forward(ctx: Any, field: Tensor, rows: int, columns: int, flips: Tensor | float) -> Tensor:
        ctx.rows, ctx.columns, ctx.flips = rows, columns, flips
        if rows:
            south, north = (_across(edge, flips) for edge in (field[..., :rows, :], field[..., -rows:, :]))
            field = torch.cat([south, field, north], dim=-2)
        if not columns:
            return field if rows else field.clone()
        return torch.cat([field[..., -columns:], field, field[..., :columns]], dim=-1)

    @staticmethod
    def backward(ctx: Any, *outs: Tensor) -> tuple[Tensor, None, None, None]:
        rows, columns, grad = ctx.rows, ctx.columns, outs[0]
        if columns:
            west, east = grad[..., :columns], grad[..., -columns:]
            grad = grad[..., columns:-columns].clone()
            grad[..., -columns:] += west
            grad[..., :columns] += east
        if rows:
            south, north = (_across(edge, ctx.flips) for edge in (grad[..., :rows, :], grad[..., -rows:, :]))
            grad = grad[..., rows:-rows, :].clone()
            grad[..., :rows, :] += south
            grad[..., -rows:, :] += north
        return grad, None, None, None


def _across(edge: Tensor, flips: Tensor | float) -> Tensor:
    """Rows next to a pole as they lie beyond it: its own inverse, and its own transpose."""
    return edge.flip(-2).roll(edge.shape[-1] // 2, -1) * flips


def _per_channel(flips: Tensor | float) -> Tensor | float:
    return flips[:, None, None] if isinstance(flips, Tensor) and flips.ndim == 1 else flips
