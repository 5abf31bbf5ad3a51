"""Simulated data kept on disk; GREYMATCH_CACHE names the folder, or turns it off where it is empty."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.files import read_tensors, write_tensors

Tensors = dict[str, Tensor]


def cached(name: str, recipe: str, make: Callable[[], Tensors]) -> Tensors:
    """What `make` gives, from the file of an earlier call if `recipe`, all that it depends on, is the same.

    A folder that cannot be written and a file that cannot be read cost time, never an error.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{name}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.safetensors"
    with suppress(GreymatchError):
        return read_tensors(path)[0]
    made = make()
    with suppress(GreymatchError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(path, made, {"kind": "simulated data"})
    return made


def cache_folder() -> Path | None:
    """GREYMATCH_CACHE, else the user's own cache; None where it is set to nothing."""
    chosen = os.environ.get("GREYMATCH_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "greymatch"
