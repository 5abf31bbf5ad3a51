"""Files a command is given, and files it is to write."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from greymatch.cli.physics_file import load_physics
from greymatch.errors import GreymatchError, did_you_mean

if TYPE_CHECKING:
    from greymatch.models.greybox import GreyBox

PICTURES = (".png", ".svg", ".pdf")


def ready(path: Path, suffixes: Collection[str], option: str = "--out", read: Path | None = None) -> Path:
    """`path` as a file that can be written: known suffix, folder made, and not what is `read`. Asked before any work is
    done."""
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        hint = did_you_mean(suffix, suffixes)
        raise GreymatchError(f"`{option}` must end in {', '.join(suffixes)}; got {str(path)!r}.{hint}")
    if read is not None and path.resolve() == read.resolve():
        raise GreymatchError(f"`{option}` must not be the file that is read; got {str(path)!r}. Choose another name.")
    folder(path.parent, option)
    return path


def folder(path: Path, option: str = "--out") -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GreymatchError(f"`{option}`: folder {str(path)!r} cannot be made: {error.strerror}.") from None
    return path


def load_model(path: Path, physics: str | None) -> GreyBox:
    from greymatch.models.file import load

    known = load_physics(physics) if physics else None
    try:
        return load(path, known)
    except GreymatchError as error:
        if known is None and "not built in" in str(error):
            raise GreymatchError(f"{error} On the command line: --physics FILE.py:NAME.") from None
        raise
