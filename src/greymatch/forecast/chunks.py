"""Rows that fit into memory together."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

_NUMBERS = 2**22  # at once: sorting makes several copies of them


def chunks(draws: Tensor, numbers: int | None = None) -> Iterator[slice]:
    """Slices over the trajectories of draws (D, N, ...), each of about so many numbers, by default four million."""
    count = draws.shape[1]
    rows = max(1, (numbers or _NUMBERS) * count // max(1, draws.numel()))
    for first in range(0, count, rows):
        yield slice(first, first + rows)
