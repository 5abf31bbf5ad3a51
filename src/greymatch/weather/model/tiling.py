"""How maps are cut into tiles, and the sums of places that are the numbers of a tile: see `winograd`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array, kron
from torch import Tensor

from greymatch.weather.model.sums import Sums, repeated
from greymatch.weather.model.toom import Matrices, Matrix, matrices
from greymatch.weather.sphere import halo

TILE = 4  # places that a tile gives
# more tiles than there are, empty ones: else the same place of all numbers would fall on the same few lines of a cache
SPARE = 2
ONE = 1  # which of the points is 1: what is added there is added everywhere


@dataclass(frozen=True, eq=False)
class Kind:
    """A convolution along either direction of a map, by kernels with so many `taps` at `points` and at infinity.

    `kernels` (ways, apart, taps, size) make them of the weights. Places of a tile lie `apart` from each other, and
    those between them are tiles as well, each by a kernel of its own, summed over. Results are by `ways` kernels in
    turn, the tiles of each beginning one place after those of the last.
    """

    points: tuple[float, ...]
    kernels: Matrix
    edged: bool = True  # by the convolution, and not before

    @property
    def ways(self) -> int:
        return self.kernels.shape[0]

    @property
    def apart(self) -> int:
        return self.kernels.shape[1]

    @property
    def count(self) -> int:
        """Numbers of a tile, by all ways."""
        return (self.ways * (len(self.points) + 1)) ** 2

    @property
    def between(self) -> int:
        return self.apart**2

    def everywhere(self, numbers: Tensor, dim: int) -> Tensor:
        """Those numbers, as a view (..., ways, ways, ...), that count once in every result of a way."""
        each = len(self.points) + 1
        by_point = numbers.unflatten(dim, (self.ways, self.ways, each, each))
        return by_point.select(dim + 2, ONE).select(dim + 2, ONE)

    @cached_property
    def kernel(self) -> Tensor:
        """(count between, size size): what the weights at each place of a kernel are in each number."""
        one = np.einsum("nt,pats->pnas", self.matrices.kernel, self.kernels)
        both = np.einsum("pnas,qmbt->pqnmabst", one, one)
        return torch.from_numpy(both.reshape(self.count * self.between, -1)).float()

    @cached_property
    def matrices(self) -> Matrices:
        return matrices(self.points, self.kernels.shape[2])

    def seen(self, size: int) -> Matrix:
        """(tiles, ways, numbers, apart, size + 2): of places along a direction, with one more at either end."""
        tiles, tile = size // (TILE * self.apart), self.matrices.tile
        found = np.zeros((tiles, self.ways, len(tile), self.apart, size + 2))
        for at, way, between in np.ndindex(tiles, self.ways, self.apart):
            first = way + between + TILE * self.apart * at
            found[at, way, :, between, first : first + self.apart * len(tile) : self.apart] = tile
        return found

    def made(self, size: int) -> Matrix:
        """(tiles, ways, numbers, 1, results): of the results along a direction."""
        tiles, result = size // (TILE * self.apart), self.matrices.result
        found = np.zeros((tiles, self.ways, result.shape[1], 1, tiles * TILE * self.ways))
        for at, way in np.ndindex(tiles, self.ways):
            first = way + TILE * self.ways * at
            found[at, way, :, 0, first : first + TILE * self.ways : self.ways] = result.T
        return found


# of the three rows of a kernel, those that fall on either of the two coarse ones that an upper or lower fine row sees
_FALLS = [[[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]], [[[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]]

SAME = Kind((0.0, 1.0, -1.0, 2.0, -2.0), np.eye(3)[None, None])
EDGED = Kind(SAME.points, SAME.kernels, edged=False)
HALVED = Kind((0.0, 1.0, -1.0, 2.0), np.eye(4).reshape(1, 2, 2, 4).swapaxes(1, 2))
DOUBLED = Kind((0.0, 1.0, -1.0, 2.0), np.array(_FALLS))


class Tiling(NamedTuple):
    """Numbers of tiles of what is `seen`, and results `made` of such numbers, on a `grid`; and the transposes of both.

    Sums for tiles are (B, tiles, numbers, between), and sums of tiles are of (numbers, B, tiles, between).
    """

    seen: Sums
    unseen: Sums
    made: Sums
    unmade: Sums
    grid: tuple[int, int]


@lru_cache(maxsize=12)
def tiling(kind: Kind, batch: int, rows: int, columns: int) -> Tiling:
    if not kind.edged:
        rows, columns = rows - 2, columns - 2
    by_place, by_result = _changes(kind, rows, columns)
    seen, unseen = _sums(by_place, kind, kind.between, batch)
    unmade, made = _sums(by_result, kind, 1, batch)
    grid = (rows * kind.ways // kind.apart, columns * kind.ways // kind.apart)
    return Tiling(seen, unseen, made, unmade, grid)


@lru_cache(maxsize=12)
def _changes(kind: Kind, rows: int, columns: int) -> tuple[csr_array, csr_array]:
    """Numbers of all tiles of one map, by place and by result."""
    seen, made = (_both(change(rows), change(columns)) for change in (kind.seen, kind.made))
    return seen @ _edges(rows, columns) if kind.edged else seen, made


def _sums(matrix: csr_array, kind: Kind, between: int, batch: int) -> tuple[Sums, Sums]:
    """Of places for tiles, and of tiles for places."""
    back = csr_array(matrix.T)
    places, tiles = len(back.indptr) - 1, (len(matrix.indptr) - 1) // (kind.count * between)
    tile, number, other = np.ogrid[:tiles, : kind.count, :between]
    taken = ((number * (batch * tiles + SPARE) + tile) * between + other).ravel()
    return (
        repeated(matrix, np.arange(places), places, batch, SPARE * kind.count * between),
        repeated(back, taken, tiles * between, batch),
    )


def _both(rows: Matrix, columns: Matrix) -> csr_array:
    """(tiles tiles ways ways numbers numbers apart apart, rows columns), of what it is along either direction."""
    lengths = (*rows.shape[:-1], *columns.shape[:-1])
    order = np.arange(np.prod(lengths)).reshape(lengths).transpose(0, 4, 1, 5, 2, 6, 3, 7).ravel()
    flat = (csr_array(one.reshape(-1, one.shape[-1])) for one in (rows, columns))
    return csr_array(kron(*flat, format="csr")[order])


def _edges(rows: int, columns: int) -> csr_array:
    """(more places, places): which place each one is, with those beyond the edges."""
    places = halo(torch.arange(rows * columns, dtype=torch.float64).view(rows, columns), 1, 1).flatten().long().numpy()
    return csr_array((np.ones(len(places)), (np.arange(len(places)), places)))
