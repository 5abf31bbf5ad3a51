"""The data of a run: simulated, or read from files that replace a split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from greymatch.bench.plan import Run, system_named
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories

SPLITS = ("train", "val", "test")
SUFFIXES = (".nc", ".parquet", ".zarr", ".h5", ".netcdf", ".csv")
SHOWN = 16  # digits of a digest


@dataclass(frozen=True)
class Splits:
    train: Trajectories
    val: Trajectories
    test: Trajectories


def splits_of(run: Run) -> Splits:
    """The trajectories a run learns from, is validated on and is judged by."""
    train = _of(run, "train", run.train)
    if run.train is not None and run.train > len(train):
        raise GreymatchError(f"`train` must be at most the {len(train)} trajectories that there are; got {run.train}.")
    return Splits(train, _of(run, "val", run.val), _of(run, "test", run.test))


def _of(run: Run, split: str, count: int | None) -> Trajectories:
    from greymatch.data.read import read

    system, files = system_named(run.system), _files(run.data)
    if split in files:
        data = read(files[split], states=system.physics.states, inputs=system.physics.inputs)
    else:
        data = system.data(split)
    return data if count is None else data.select(slice(0, count))


def digests(folder: Path | None) -> dict[str, str]:
    """A digest of each file that replaces a split: it tells which data, not where they lie."""
    found = {}
    for split, path in _files(folder).items():
        parts = sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
        content = hashlib.sha256()
        for part in parts:
            content.update(part.read_bytes())
        found[split] = content.hexdigest()[:SHOWN]
    return found


def _files(folder: Path | None) -> Mapping[str, Path]:
    if folder is None:
        return {}
    named = {split: [folder / f"{split}{suffix}" for suffix in SUFFIXES] for split in SPLITS}
    found = {split: next((path for path in paths if path.exists()), None) for split, paths in named.items()}
    there = {split: path for split, path in found.items() if path is not None}
    if not there:
        raise GreymatchError(
            f"`data` must be a folder with train, val or test as {', '.join(SUFFIXES)}; {str(folder)!r} has none. "
            "Name the files so."
        )
    return there
