"""What lies beyond the edges of the grid: the far side of the globe."""

from __future__ import annotations

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
    field = _over_the_poles(field, rows, _per_channel(flips)) if rows else field
    if not columns:
        return field
    return torch.cat([field[..., -columns:], field, field[..., :columns]], dim=-1)


def _over_the_poles(field: Tensor, rows: int, flips: Tensor | float) -> Tensor:
    half = field.shape[-1] // 2
    south = field[..., :rows, :].flip(-2).roll(half, -1) * flips
    north = field[..., -rows:, :].flip(-2).roll(half, -1) * flips
    return torch.cat([south, field, north], dim=-2)


def _per_channel(flips: Tensor | float) -> Tensor | float:
    return flips[:, None, None] if isinstance(flips, Tensor) and flips.ndim == 1 else flips
