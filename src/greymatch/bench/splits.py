"""The data of a run: simulated, or read from files that replace a split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from greymatch.bench.plan import Run, system_named
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories

SPLITS = ("train", "val", "test")
SUFFIXES = (".nc", ".parquet", ".zarr", ".h5", ".netcdf", ".csv")
SHOWN = 16  # digits of a digest
NOISE_SEED, FRESH_SEED = 1000, 7777


@dataclass(frozen=True)
class Splits:
    """In single precision, as the published data are; `truth` is the test split without rounding, and without the noise
    that a run puts on all of them."""

    train: Trajectories
    val: Trajectories
    test: Trajectories
    truth: Trajectories


def splits_of(run: Run) -> Splits:
    """The trajectories a run learns from, is validated on and is judged by."""
    train = _of(run, "train", run.train)
    if run.train is not None and run.train > len(train):
        raise GreymatchError(f"`train` must be at most the {len(train)} trajectories that there are; got {run.train}.")
    val, test = _of(run, "val", run.val), _of(run, "test", run.test)
    size = run.noise * observed_spread(train)
    seen = [recorded(noised(part, size, seed)) for seed, part in enumerate((train, val, test), NOISE_SEED)]
    return Splits(*seen, truth=test)


def fresh_of(run: Run, count: int) -> tuple[Trajectories, Trajectories]:
    """So many trajectories that are drawn as those of the test split, as recorded, and their truth."""
    truth = system_named(run.system).data("test", seed=FRESH_SEED, trajectories=count)
    size = run.noise * observed_spread(_of(run, "train", run.train))
    return recorded(noised(truth, size, FRESH_SEED)), truth


def recorded(data: Trajectories) -> Trajectories:
    """What is left of it in single precision: of more digits, errors are a solver's and the same in all trajectories,
    so that no interval holds nine in ten of them."""
    return replace(data, values=data.values.float().to(data.values))


def observed_spread(data: Trajectories) -> Tensor:
    """The standard deviation of all observations of each state (S,)."""
    parts = zip(data.values.movedim(2, 0), data.mask.movedim(2, 0), strict=True)
    return torch.stack([values[seen].std(unbiased=False) for values, seen in parts])


def noised(data: Trajectories, size: Tensor, seed: int) -> Trajectories:
    """The data with white noise of standard deviation `size` (S,) on what was observed."""
    if not bool(size.any()):
        return data
    noise = torch.randn(data.values.shape, generator=torch.Generator().manual_seed(seed), dtype=data.values.dtype)
    return replace(data, values=data.values + data.mask * noise * size.reshape(-1, *(1,) * len(data.grid)))


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
