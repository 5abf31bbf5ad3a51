"""Windows per second of a fit to a store that is read in parts, beside a fit to the same trajectories in memory."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.timing import Measured
from greymatch.bench.speed.training import FEW, UNIT, fitted_rate
from greymatch.data.read import read
from greymatch.data.trajectories import Trajectories
from greymatch.systems import SYSTEMS
from greymatch.training.fit import fit

SYSTEM, GOAL = "lorenz", 1 / 1.5
SHELVES = 8  # that the store's trajectories fill, of which one is in memory at a time
CHUNKS = 4  # of a shelf
CHUNK_KEY = re.compile(r"/\d+(\.\d+)+$")


def store(sizes: Sizes) -> Iterator[Measured]:
    """Both fits begin with the same weights; a shelf is an eighth of the store, and holds a few chunks."""
    system, budget = SYSTEMS[SYSTEM], sizes.fit_seconds / 2
    data, validation = system.data("train", trajectories=sizes.stored), system.data("val", trajectories=FEW)
    shelf = max(CHUNKS, len(data) // SHELVES)
    settings = system.settings().updated({"data.shelf": shelf})
    begun = fit(system.physics, data.select(range(shelf)), validation, settings=settings, steps=1, quiet=True)
    with tempfile.TemporaryDirectory() as folder:
        path = written(data, Path(folder) / "store.zarr", shelf // CHUNKS)
        for _ in range(sizes.fit_turns):
            there = fitted_rate(begun, read(path), validation, budget)
            with chunks_read() as chunks:
                here = fitted_rate(begun, read(path, lazy=True), validation, budget)
            case = f"{SYSTEM}, {len(data)} trajectories, {shelf} of them in memory"
            note = f"`fit` of {budget:g} s each, with validation and settling; the goal is at most 1.5 times as long"
            yield Measured("store", case, UNIT, 1000, [1000 / here], [1000 / there], "all in memory", GOAL, note=note)
            yield _used(chunks, here * budget)


def _used(chunks: Counter[str], windows: float) -> Measured:
    """How much is learned from a chunk once it is read."""
    reads = chunks.total()
    note = f"{len(chunks)} chunks of a variable were read, {reads / max(1, len(chunks)):.1f} times each"
    return Measured("store", "windows trained on for each chunk read", "windows", windows, [max(1, reads)], note=note)


def written(data: Trajectories, path: Path, rows: int) -> Path:
    """A Zarr store whose chunks hold so many whole trajectories of a state."""
    dataset = data.to_dataset()
    points = dataset.sizes["time"]
    encoding: Any = {name: {"chunks": (rows, points)} for name in data.states}
    dataset.to_zarr(path, zarr_format=2, encoding=encoding)
    return path


@contextmanager
def chunks_read() -> Iterator[Counter[str]]:
    """How often each chunk of a store on disk is read meanwhile."""
    from zarr.storage import LocalStore

    found, plain = Counter[str](), LocalStore.get

    async def counting(self: Any, key: str, *how: Any, **more: Any) -> Any:
        if CHUNK_KEY.search(f"/{key}"):
            found[key] += 1
        return await plain(self, key, *how, **more)

    LocalStore.get = counting
    try:
        yield found
    finally:
        LocalStore.get = plain
