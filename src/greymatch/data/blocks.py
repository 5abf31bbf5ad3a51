"""How a store is cut: into blocks that go along with its chunks, and blocks into pieces of recordings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import xarray as xr

LONGEST = 1024  # points of a piece; recordings up to this length stay whole


@dataclass(frozen=True, slots=True)  # a large store has many
class Block:
    """A part of a store that is read at once: trajectories `first` to `last`, at points `start` to `stop`."""

    first: int
    last: int
    start: int
    stop: int
    pieces: int = 1

    def spans(self) -> Iterator[slice]:
        """The points of each piece, counted from the block's start."""
        count = self.stop - self.start
        edges = [round(count * part / self.pieces) for part in range(self.pieces + 1)]
        return (slice(*edge) for edge in pairwise(edges))

    def __len__(self) -> int:
        """Pieces of all its trajectories."""
        return (self.last - self.first) * self.pieces


@dataclass(frozen=True)
class Extent:
    """Trajectories and points of a store, and how many of each a chunk holds."""

    trajectories: int
    points: int
    chunk: tuple[int, int]

    def blocks(self, most: int) -> list[Block]:
        """All of it in blocks of at most `most` pieces, so that what is decoded at once is used at once."""
        rows, span = self.chunk[0], self._span(most)
        rows = max(1, min(rows, most // -(-span // LONGEST)))
        return [
            Block(first, min(first + rows, self.trajectories), start, stop, -(-(stop - start) // LONGEST))
            for first in range(0, self.trajectories, rows)
            for start in range(0, self.points, span)
            for stop in [min(start + span, self.points)]
        ]

    def _span(self, most: int) -> int:
        """Points of a block: whole recordings, or whole chunks, as long as they are no more than `most` pieces."""
        if self.points <= LONGEST:
            return self.points
        chunk = min(self.chunk[1], self.points)
        return min(chunk, LONGEST * most) if chunk > LONGEST else LONGEST // chunk * chunk


def chunk_of(variable: xr.DataArray, axes: tuple[str, str]) -> tuple[int, int]:
    """How many trajectories and points a chunk of the variable holds; all of them where the file has no chunks."""
    stored: Any = variable.chunksizes or variable.encoding.get("preferred_chunks") or {}
    sizes = {dim: size if isinstance(size, int) else size[0] for dim, size in stored.items()}
    rows, points = (sizes.get(axis, variable.sizes.get(axis, 1)) for axis in axes)
    return rows, points
