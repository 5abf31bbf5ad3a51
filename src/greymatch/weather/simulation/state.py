# pyright: reportMissingImports=false
"""The model's state on disk, from which a simulation goes on."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import jax.numpy as jnp
import numpy as np
from dinosaur import primitive_equations

from greymatch.errors import GreymatchError
from greymatch.files import write_bytes

_PARTS = ("vorticity", "divergence", "temperature_variation", "log_surface_pressure")


def save_state(path: Path, state: Any, recipe: str) -> None:
    parts = {part: np.asarray(getattr(state, part)) for part in _PARTS}
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, recipe=np.array(recipe), **parts)
    write_bytes(path, content.getvalue())


def load_state(path: Path, recipe: str) -> Any:
    """The state, if it is of a simulation by the same recipe."""
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {part: jnp.asarray(file[part]) for part in _PARTS}
            made_by = str(file["recipe"])
    except (OSError, KeyError, ValueError, BadZipFile) as error:
        raise GreymatchError(
            f"{str(path)!r} must hold the state from which to go on ({error}). Simulate into a new folder."
        ) from None
    if made_by != recipe:
        raise GreymatchError(
            f"{str(path.parent.parent)!r} holds another simulation, by the recipe {made_by}; asked was {recipe}. "
            "Simulate into a new folder."
        )
    return primitive_equations.State(**parts, sim_time=jnp.float32(0.0))
