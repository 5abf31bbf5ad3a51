"""Options that the weather commands share, and what they mean."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from greymatch.errors import GreymatchError

Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the archive goes; the same command goes on with it.")]
Archived = Annotated[
    Path, typer.Option("--data", metavar="FOLDER", help="An archive: WeatherBench 1 or 2, or simulated.")
]
Years = Annotated[str, typer.Option(help="Years to start from, such as 2017-2018.")]
Every = Annotated[int, typer.Option(min=1, help="Of the starts, each one of so many.")]
Leads = Annotated[int, typer.Option(min=1, help="How many hours ahead.")]


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


def lead_hours(last: int, step: int) -> list[int]:
    """Every step up to `last` hours."""
    if last < step or last % step:
        raise GreymatchError(f"`--leads` must be a multiple of the model's step, {step} hours; got {last}.")
    return list(range(step, last + 1, step))


def whole_numbers(text: str, option: str) -> list[int]:
    """Numbers between commas."""
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise GreymatchError(f"`{option}` must be whole numbers with commas between; got {text!r}.") from None


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
