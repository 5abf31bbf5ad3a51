"""The numbers of Toom, Cook and Winograd: a convolution as products at points, and nothing between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class Matrices(NamedTuple):
    """y = result [(kernel g) * (tile d)], number by number, is the convolution y_i = sum_k g_k d_(i + k)."""

    tile: Matrix
    kernel: Matrix
    result: Matrix


def matrices(points: tuple[float, ...], taps: int) -> Matrices:
    """For kernels of so many `taps`, from polynomials at the points and at infinity.

    ```python
    matrices((0, 1, -1, 2, -2), 3)   # F(4, 3) of Lavin and Gray (2016): four results of a tile of six
    ```
    """
    count = len(points) + 2 - taps
    others = [[one for one in points if one != point] for point in points]
    size = np.array([np.prod([point - one for one in rest]) for point, rest in zip(points, others, strict=True)])
    tile = np.zeros((len(points) + 1, len(points) + 1))
    for row, roots in enumerate([*others, points]):
        tile[row, : len(roots) + 1] = np.poly(roots)[::-1]
    return Matrices(tile, _powers(points, taps) / np.append(size, 1.0)[:, None], _powers(points, count).T)


def _powers(points: tuple[float, ...], count: int) -> Matrix:
    """A row for each point, and for infinity, where the highest power is all there is."""
    return np.vstack([np.vander(points, count, increasing=True), np.eye(count)[-1]])
