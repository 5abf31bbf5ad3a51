"""Folders with one file for each recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from greymatch.data.join import join
from greymatch.data.openers import READERS
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError

_SHOWN = 5


def recordings(path: Path) -> list[Path] | None:
    """The files of a folder, or of a pattern such as runs/*.csv, by name; None where the path is one file."""
    if "*" in path.name and not path.exists():
        files = sorted(path.parent.glob(path.name))
    elif path.is_dir() and path.suffix.lower() not in READERS:
        files = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    else:
        return None
    known = [file for file in files if file.suffix.lower() in READERS]
    kinds = sorted({file.suffix.lower() for file in known})
    if not known:
        beside = [file.name for file in files[:_SHOWN]] or "nothing"
        raise GreymatchError(
            f"{str(path)!r} must hold data files, ending in {', '.join(READERS)}; it holds {beside}. Check the path."
        )
    if len(kinds) > 1:
        raise GreymatchError(
            f"the recordings in {str(path)!r} must be files of one kind; it holds {', '.join(kinds)}. "
            f"Choose one by a pattern, such as {str(path / '*') + kinds[0]!r}."
        )
    return known


def read_folder(files: Sequence[Path], read_one: Callable[[Path], Trajectories]) -> Trajectories:
    """One trajectory from each file, labelled by the file's name."""
    return join([_recording(file, read_one) for file in files], [file.name for file in files])


def _recording(file: Path, read_one: Callable[[Path], Trajectories]) -> Trajectories:
    try:
        data = read_one(file)
    except GreymatchError as error:
        raise GreymatchError(f"in {file.name!r}: {error}") from error
    if len(data) > 1:
        raise GreymatchError(
            f"each file of a folder must be one recording; {file.name!r} holds {len(data)} trajectories. "
            "Read such files one by one."
        )
    return replace(data, labels=np.array([file.stem]))
