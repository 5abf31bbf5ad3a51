"""From a coarse grid to one twice as fine, without a fine map of what is coarse."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from greymatch.weather.sphere import halo

# of the three rows of a kernel, those that fall on either of the two coarse ones that an upper or lower fine row sees
_FALLS = (((1.0, 0.0, 0.0), (0.0, 1.0, 1.0)), ((1.0, 1.0, 0.0), (0.0, 0.0, 1.0)))


def joined(fine: Tensor, coarse: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A 3 x 3 convolution of `fine` (B, C, lat, lon) and `coarse` (B, C', lat/2, lon/2), a cell of which is four.

    A fine cell sees four coarse ones and not nine, which makes less than half of the products.
    """
    count = fine.shape[1]
    own = torch.conv2d(halo(fine, 1, 1), weight[:, :count], bias)
    falls = torch.tensor(_FALLS, dtype=weight.dtype, device=weight.device)
    kernels = torch.einsum("pki,qlj,ocij->pqockl", falls, falls, weight[:, count:]).flatten(0, 2)
    corners = torch.conv2d(halo(coarse, 1, 1), kernels.contiguous())
    return own + _Interleaved.apply(corners)


class _Interleaved(torch.autograd.Function):
    """Fine maps (B, C, lat, lon) of what (B, 4 C, lat/2 + 1, lon/2 + 1) the four cells around each corner have of it.

    With a gradient of its own, as that of slices makes a whole map of zeros for each.
    """

    @staticmethod
    def forward(ctx: Any, corners: Tensor) -> Tensor:
        batch, channels, rows, columns = corners.shape
        fine = corners.new_empty(batch, channels // 4, rows - 1, 2, columns - 1, 2)
        for (p, q), part in _parts(corners):
            fine[:, :, :, p, :, q] = part
        return fine.view(batch, channels // 4, 2 * (rows - 1), 2 * (columns - 1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *outs: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        fine = outs[0].unflatten(3, (-1, 2)).unflatten(2, (-1, 2))
        batch, channels, rows, _, columns, _ = fine.shape
        corners = fine.new_zeros(batch, 4 * channels, rows + 1, columns + 1)
        for (p, q), part in _parts(corners):
            part.copy_(fine[:, :, :, p, :, q])
        return corners


def _parts(corners: Tensor) -> list[tuple[tuple[int, int], Tensor]]:
    """By lower row and right column: where the corners of those cells are."""
    rows, columns = corners.shape[2] - 1, corners.shape[3] - 1
    by_cell = corners.unflatten(1, (2, 2, -1))
    places = [(p, q) for p in (0, 1) for q in (0, 1)]
    return [((p, q), by_cell[:, p, q, :, p : p + rows, q : q + columns]) for p, q in places]
