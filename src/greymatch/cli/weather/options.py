"""Options that the weather commands share, and what they mean."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from greymatch.errors import GreymatchError

Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the archive goes; the same command goes on with it.")]


class Layout(StrEnum):
    """How an archive lies on disk."""

    WB1 = "wb1"
    WB2 = "wb2"


def year_span(text: str) -> tuple[int, int]:
    """`2006-2018` or `2016`."""
    found = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", text.strip())
    if found is None or int(found[2] or found[1]) < int(found[1]):
        raise GreymatchError(f"`--years` must be such as 2006-2018 or 2016; got {text!r}.")
    return int(found[1]), int(found[2] or found[1])


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
