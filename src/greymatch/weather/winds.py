"""The true winds at the heights of the fields, where an archive has them."""

from __future__ import annotations

from pathlib import Path

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.read import read

TRUE_WINDS = {"z500": ("u500", "v500"), "t850": ("u850", "v850")}


def true_winds(data: Path) -> Archive | None:
    """None where there are none."""
    try:
        return read(data, fields=[name for pair in TRUE_WINDS.values() for name in pair])
    except GreymatchError:
        return None
