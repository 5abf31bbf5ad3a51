"""Weighted sums of rows: a matrix with many zeros by one that has none, in a single pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor


class Sums(NamedTuple):
    """Of which rows each sum is, how often each counts, and where those of a sum begin."""

    rows: Tensor
    times: Tensor
    begins: Tensor

    def of(self, rows: Tensor) -> Tensor:
        """(sums, C) of rows (N, C), without a gradient: for that, more would be found than the sums."""
        return torch.embedding_bag(rows.detach(), self.rows, self.begins, mode=0, per_sample_weights=self.times)[0]


def repeated(matrix: csr_array, rows: NDArray[np.int64], apart: int, count: int, empty: int = 0) -> Sums:
    """What a matrix makes of `rows`, the numbers of which are told for its columns, and `count` times over of rows so
    far `apart`; then so many sums of nothing."""
    each, numbers = torch.arange(count, dtype=torch.int32)[:, None], torch.from_numpy(rows[matrix.indices]).int()
    begins = (torch.from_numpy(matrix.indptr[:-1]).int() + matrix.nnz * each).flatten()
    return Sums(
        (numbers + apart * each).flatten(),
        torch.from_numpy(matrix.data).float().repeat(count),
        torch.cat([begins, begins.new_full((empty,), matrix.nnz * count)]),
    )
