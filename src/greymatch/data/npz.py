"""Datasets in NumPy's own archive, without pickles.

One array for each variable under its name. `write` adds the text `greymatch`, JSON with the axes and notes of each; an
archive made elsewhere needs none. Then `time` is (T,) or (N, T), recordings are (T,), or (N, T, *grid) with the grid
axes x, or y and x, or z, y and x; arrays (N,) are what is known of each recording, and `trajectory` its labels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError

NOTES = "greymatch"
_GRID = ("z", "y", "x")


def write_npz(dataset: xr.Dataset, path: Path) -> None:
    """Every variable and coordinate, with the names of its axes."""
    notes = {str(name): _note(dataset, str(name)) for name in dataset.variables}
    arrays = {str(name): _storable(variable.values) for name, variable in dataset.variables.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays, **{NOTES: np.array(json.dumps(notes))})  # pyright: ignore[reportArgumentType]


def open_npz(path: Path) -> xr.Dataset:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: _plain(archive, name) for name in archive.files}
    text = arrays.pop(NOTES, None)
    return _guessed(arrays) if text is None else _as_noted(arrays, json.loads(str(text)))


def _plain(archive: Any, name: str) -> np.ndarray:
    try:
        return archive[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise GreymatchError(
            f"arrays of an .npz must be plain numbers, texts or dates; {name!r} holds Python objects, which are never "
            "loaded. Save it as `array.astype(float)`."
        ) from error


def _note(dataset: xr.Dataset, name: str) -> dict[str, Any]:
    attrs = {key: np.asarray(value).tolist() for key, value in dataset[name].attrs.items()}
    return {"axes": list(dataset[name].dims), "coordinate": name in dataset.coords, "notes": attrs}


def _storable(values: np.ndarray) -> np.ndarray:
    return values.astype(str) if values.dtype.kind in "OT" else values


def _as_noted(arrays: dict[str, np.ndarray], notes: dict[str, Any]) -> xr.Dataset:
    if not isinstance(notes, dict) or notes.keys() != arrays.keys():
        raise GreymatchError(
            f"the text {NOTES!r} of an .npz must tell the axes of its arrays {sorted(arrays)}; it tells of "
            f"{sorted(notes)}. Leave it out, or write the file with `gm.write`."
        )
    made = {name: (tuple(note["axes"]), arrays[name], note["notes"]) for name, note in notes.items()}
    coords = {name: made.pop(name) for name, note in notes.items() if note["coordinate"]}
    return xr.Dataset(made, coords)


def _guessed(arrays: dict[str, np.ndarray]) -> xr.Dataset:
    """Axes by shape, as an archive made by hand has them."""
    if "time" not in arrays or not 1 <= arrays["time"].ndim <= 2:
        raise GreymatchError(
            "an .npz must hold `time`, (time,) or (trajectory, time); it holds "
            f"{ {name: array.shape for name, array in arrays.items()} }. Rename the array of times."
        )
    most = max(array.ndim for array in arrays.values())
    coordinates = ["trajectory", "time", *_GRID[len(_GRID) + 2 - max(most, 2) :]]
    points = arrays["time"].shape[-1]
    made = {name: (_axes(name, array, points, coordinates, most), array) for name, array in arrays.items()}
    return xr.Dataset(made).set_coords([name for name in coordinates if name in made])


def _axes(name: str, array: np.ndarray, points: int, coordinates: list[str], most: int) -> tuple[str, ...]:
    if array.ndim == 1 and name in coordinates:
        return (name,)
    if array.ndim <= 1:
        return ("time" if most < 2 else "trajectory",)[: array.ndim]
    if array.shape[1] != points or array.ndim > 2 + len(_GRID):
        raise GreymatchError(
            f"arrays of an .npz must be (trajectory, time, *grid) with the {points} points of `time`; {name!r} has "
            f"shape {array.shape}. A single recording of a field has 1 as its first size."
        )
    return ("trajectory", "time", *_GRID[len(_GRID) + 2 - array.ndim :])
