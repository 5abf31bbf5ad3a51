"""`Store`: recordings that do not fit into memory, read in parts when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_

import numpy as np
import torch
import xarray as xr

from greymatch.data.blocks import LONGEST, Block, Extent, chunk_of
from greymatch.data.checks import check_observed
from greymatch.data.dates import nanoseconds
from greymatch.data.join import join
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean

NUMBERS = 300_000  # in a sample, where it is not said how many pieces it has
FEWEST = 32
BEGUN = "_begun"  # the date at which a recording starts, beside each of its pieces


@dataclass(frozen=True, eq=False, repr=False)
class Store:
    """Recordings x_i(t_ij) on disk: `gm.read("store.zarr", lazy=True)`.

    ```python
    store = gm.read("store.zarr", lazy=True)
    model = gm.fit(physics, store)                 # memory does not grow with the store
    history = store.select([3, 7]).until(2.5)      # these two, in memory
    ```

    Recordings of more than 1024 points are learned from in pieces. A part is read by whole chunks of the store, as far
    as they fit: let a chunk hold many points of many recordings.

    Not for data that fit into memory: those are read once, and every fit of them sees all of them.
    """

    dataset: xr.Dataset
    trajectory: str
    time: str
    taken: Callable[[xr.Dataset], Trajectories]

    @cached_property
    def axis(self) -> str:
        """The dimension that time runs along."""
        known = [str(name) for name in self.dataset.variables]
        if self.time not in known:
            raise GreymatchError(
                f"the store has no {self.time!r} coordinate; it has {known}. "
                f"Name its time axis in `time`.{did_you_mean(self.time, known)}"
            )
        axes = [str(dim) for dim in self.dataset[self.time].dims if dim != self.trajectory]
        if len(axes) != 1:
            raise GreymatchError(f"{self.time!r} must run along one axis besides {self.trajectory!r}; got {axes}.")
        return axes[0]

    @cached_property
    def extent(self) -> Extent:
        sizes = self.dataset.sizes
        counts = (sizes.get(self.trajectory, 1), sizes[self.axis])
        chunks = [chunk_of(self.dataset[name], (self.trajectory, self.axis)) for name in self.head.states]
        return Extent(*counts, chunk=(min(row for row, _ in chunks), min(point for _, point in chunks)))

    @cached_property
    def head(self) -> Trajectories:
        """The beginning of the first recording: what it holds is what all of them hold."""
        head = self._loaded(0, 1, slice(0, LONGEST), self.dataset)
        data = self.taken(head)
        own = [dim for name in data.inputs.names for dim in head[name].dims] if data.inputs else []
        if self.dataset.sizes[self.axis] > LONGEST and set(own) - {self.trajectory, self.axis}:
            raise GreymatchError(
                f"inputs of recordings over {LONGEST} points, which are read in pieces, must be sampled at the "
                f"times of the states, along {self.axis!r}; they run along {own}. Interpolate them, or leave out lazy."
            )
        return data

    @cached_property
    def asked(self) -> xr.Dataset:
        """The dataset without what runs along time and is not asked for."""
        used = {*self.head.states, *(self.head.inputs.names if self.head.inputs else ())}
        along = [name for name, array in self.dataset.data_vars.items() if self.axis in array.dims]
        return self.dataset.drop_vars([name for name in along if name not in used])

    def __len__(self) -> int:
        return self.extent.trajectories

    @property
    def usual(self) -> int:
        """How many pieces are held in memory at a time where nobody says."""
        points = min(self.extent.points, LONGEST)
        return max(FEWEST, NUMBERS // (points * self.head.values[0, 0].numel()))

    def blocks(self, most: int) -> list[Block]:
        return self.extent.blocks(most)

    def part(self, blocks: Iterable[Block]) -> Trajectories:
        """The pieces of these blocks as trajectories of their own, where anything is observed."""
        parts = [piece for block in blocks for piece in self._pieces(block)]
        if not parts:
            raise GreymatchError("this part of the store holds no observation: all of its values are missing.")
        return join(parts, [f"trajectory {part.labels[0]}" for part in parts])

    def sample(self, pieces: int | None = None) -> Trajectories:
        """Pieces from all over the store, always the same."""
        wanted = self.usual if pieces is None else pieces
        blocks = self.blocks(max(1, wanted // 8))
        some = np.linspace(0, len(blocks) - 1, min(len(blocks), max(1, wanted // max(map(len, blocks))))).round()
        return check_observed(self.part(blocks[int(index)] for index in some))

    def select(self, rows: Sequence[int]) -> Trajectories:
        """Whole recordings, in memory."""
        asked = [int(row) for row in rows]
        if not asked or not all(-len(self) <= row < len(self) for row in asked):
            raise GreymatchError(f"`rows` must be positions among the {len(self)} trajectories; got {asked}.")
        parts = [self.taken(self._loaded(row % len(self), row % len(self) + 1, slice(None))) for row in asked]
        return join(parts, [f"trajectory {part.labels[0]}" for part in parts])

    def _loaded(self, first: int, last: int, points: slice, dataset: xr.Dataset | None = None) -> xr.Dataset:
        whole = self.asked if dataset is None else dataset
        if self.trajectory in whole.dims:
            whole = whole.isel({self.trajectory: slice(first, last)})
            if self.trajectory not in whole.coords:
                whole = whole.assign_coords({self.trajectory: np.arange(first, last)})
        some = whole.isel({self.axis: points})
        if whole[self.time].dtype.kind == "M":
            some = some.assign_coords({BEGUN: whole[self.time].isel({self.axis: 0}, drop=True)})
        return some.load()

    def _pieces(self, block: Block) -> Iterator[Trajectories]:
        loaded = self._loaded(block.first, block.last, slice(block.start, block.stop))
        for span in block.spans():
            some = self._going_on(loaded.isel({self.axis: span}))
            if some is not None:
                yield _since_start(self.taken(some), some)

    def _going_on(self, piece: xr.Dataset) -> xr.Dataset | None:
        """The trajectories of a piece that are observed there; None if none is."""
        states = [piece[name].notnull().any(list(self.head.grid)) for name in self.head.states]
        seen = (reduce(or_, states) & piece[self.time].notnull()).any(self.axis)
        if self.trajectory not in piece.dims:
            return piece if bool(seen) else None
        rows = np.flatnonzero(seen.values)
        return piece.isel({self.trajectory: rows}) if len(rows) else None

    def __repr__(self) -> str:
        rows, points = self.extent.chunk
        return (
            f"Store({len(self)} x {self.extent.points} points of {', '.join(self.head.states)}, read in parts; "
            f"chunks of {rows} x {points})"
        )


def sampled(data: Trajectories | Store, pieces: int | None = None) -> Trajectories:
    """The data, or what stands for a store."""
    return data.sample(pieces) if isinstance(data, Store) else data


def _since_start(data: Trajectories, piece: xr.Dataset) -> Trajectories:
    """Dates counted since the start of the recording, not of the piece."""
    if data.epoch is None or BEGUN not in piece.coords:
        return data
    epoch = np.broadcast_to(piece[BEGUN].values.astype("M8[ns]"), data.epoch.shape).copy()
    since = (data.epoch - epoch).astype("m8[ns]").astype(np.int64) / nanoseconds(data.units.get("time"))
    later = torch.as_tensor(since)[:, None]
    inputs = data.inputs and replace(data.inputs, times=data.inputs.times + later)
    return replace(data, times=data.times + later, inputs=inputs, epoch=epoch)
