"""A forecast written as it is made: block by block into a Zarr store, and resumed where it stopped.

The store gets its name once it is complete; until then it lies beside it, with a journal of the blocks that are done.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from greymatch.errors import GreymatchError
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.stored import StoredForecast
from greymatch.models.solving import Block, Solved, Solving
from greymatch.simulation.status import Status

if TYPE_CHECKING:
    import xarray as xr

JOURNAL, IDENTITY = ".journal.jsonl", "greymatch_forecast"


@dataclass(frozen=True)
class Journal:
    """Which forecast a store is of (first line), and the numbers of the blocks in it (the others)."""

    path: Path

    def begin(self, identity: str) -> None:
        self.path.write_text(json.dumps(identity) + "\n")

    def add(self, number: int) -> None:
        with self.path.open("a") as file:
            file.write(f"{number}\n")
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> tuple[str, set[int]]:
        """A last line that was cut short counts for nothing."""
        identity, *numbers = self.path.read_text().split("\n")[:-1]
        return json.loads(identity), {int(number) for number in numbers}


def stream(solving: Solving, labels: Mapping[str, Any], identity: str, out: Path, resume: bool) -> StoredForecast:
    """Solve and write every block that is not there yet; `labels` are the fields of the forecast beside its draws."""
    partial = _check(out)
    if resume and out.exists() and _attribute(out) == identity:
        return _stored(out)
    done = _done(partial, identity, resume)
    for number, block in enumerate(solving.blocks()):
        if number not in done:
            solved = solving.block(block)
            if not (partial / JOURNAL).exists():
                _create(partial, solving, labels, solved, identity)
            _put(partial, labels["states"], block, solved)
            Journal(partial / JOURNAL).add(number)
    (partial / JOURNAL).unlink()
    if out.exists():
        shutil.rmtree(out)
    partial.replace(out)
    return _stored(out)


def _check(out: Path) -> Path:
    """Where the store lies until it is complete."""
    if out.suffix != ".zarr":
        raise GreymatchError(f"`out` must end in .zarr, which can be written in parts; got {str(out)!r}.")
    if not out.parent.is_dir():
        raise GreymatchError(f"`out` must lie in a folder that exists; got {str(out)!r}. Make it first.")
    if out.exists() and not ({".zgroup", "zarr.json"} & {entry.name for entry in out.iterdir()}):
        raise GreymatchError(f"{str(out)!r} is a folder of something else than zarr; choose another name.")
    return out.with_name(f".{out.name}.partial")


def _done(partial: Path, identity: str, resume: bool) -> set[int]:
    if not (partial / JOURNAL).exists():
        shutil.rmtree(partial, ignore_errors=True)
        return set()
    if not resume:
        shutil.rmtree(partial)
        return set()
    found, done = Journal(partial / JOURNAL).read()
    if found != identity:
        raise GreymatchError(
            f"`resume`: {str(partial)!r} is of another model, history or times, or was drawn otherwise. Leave resume "
            "out to start anew."
        )
    return done


def _create(partial: Path, solving: Solving, labels: Mapping[str, Any], first: Solved, identity: str) -> None:
    """The whole store with nothing in it but its axes."""
    frame = _frame(labels, first)
    draws, rows = solving.shape
    sizes = {**frame.sizes, "draw": solving.draws}
    parts = {**sizes, "draw": draws, "trajectory": rows}
    empty = {str(name): _empty(array, sizes, parts) for name, array in frame.data_vars.items()}
    whole = frame.drop_vars([*empty, "draw"]).assign_coords(draw=np.arange(solving.draws)).assign(empty)
    whole.attrs[IDENTITY] = identity
    # format 2 has a specification for texts; format 3 warns of them
    whole.to_zarr(partial, compute=False, zarr_format=2, consolidated=True)
    Journal(partial / JOURNAL).begin(identity)


def _empty(array: xr.DataArray, sizes: Mapping[Any, int], parts: Mapping[Any, int]) -> tuple[Any, ...]:
    import dask.array as da

    shape, chunks = (tuple(where[dim] for dim in array.dims) for where in (sizes, parts))
    return array.dims, da.zeros(shape, chunks=chunks, dtype=array.dtype), array.attrs


def _frame(labels: Mapping[str, Any], first: Solved) -> xr.Dataset:
    """The labels of one draw; its values are of no account."""
    shape = (1, len(labels["times"]), *first.values.shape[2:])
    nothing = torch.zeros((), dtype=first.values.dtype).expand(shape)
    return Forecast(draws=nothing, status=torch.zeros(shape[:2], dtype=torch.long), **labels).to_dataset()


def _put(partial: Path, states: tuple[str, ...], block: Block, solved: Solved) -> None:
    import zarr

    store: Any = zarr.open_group(partial, mode="r+")
    for place, name in enumerate(states):
        longest = store[name].shape[2]
        store[name][block.draws, block.rows] = solved.values[:, :, :longest, place].numpy()
    store["status"][block.draws, block.rows] = solved.status.numpy().astype(np.int8)


def _attribute(path: Path) -> str | None:
    import zarr

    found: Any = zarr.open_group(path, mode="r").attrs.get(IDENTITY)
    return found


def _stored(path: Path) -> StoredForecast:
    import zarr

    status = np.asarray(zarr.open_group(path, mode="r")["status"])
    return StoredForecast(path, *status.shape, failed=int((status != int(Status.SOLVED)).sum()))
