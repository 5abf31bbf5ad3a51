"""The results of runs that are there already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.bench.jobs import Task, result_file
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.bench.plan import Run

BEFORE_SETTLING = {"settle": 0.0}  # what a result that does not speak of it was made with


def read_result(path: Path, wanted: int) -> dict[str, Any] | None:
    """The content of a result file in the format `wanted`; None if there is none."""
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text())
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise GreymatchError(
            f"{str(path)!r} is not the result of a run. Delete it, or start over with --fresh."
        ) from None
    if found.get("format") != wanted:
        raise GreymatchError(
            f"{str(path)!r} was written by another version of greymatch and lacks what the benchmarks show. "
            "Replace it with --fresh, or choose another --out."
        )
    return found


def check_asked(path: Path, found: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """A result must be of what is asked for now."""
    differing = [key for key, value in asked.items() if found.get(key) != value]
    if differing:
        raise GreymatchError(
            f"{str(path)!r} is of another run: {', '.join(differing)} differ. "
            "Choose another --out, or replace the old results with --fresh."
        )


def stored(run: Run, folder: Path) -> dict[str, Any] | None:
    """The result of this very run if it is there; one of the same name but other settings is refused."""
    from greymatch.bench.plan import FORMAT

    path = result_file(run, folder)
    found = read_result(path, FORMAT)
    if found is not None:
        check_asked(path, _completed(found), run.asked())
    return found


def _completed(found: dict[str, Any]) -> dict[str, Any]:
    """A result with the settings that came to be after it was written, at what they were worth then."""
    from greymatch.methods import METHODS
    from greymatch.settings import Settings

    method, settings = METHODS.get(found.get("method", "")), found.get("settings")
    if method is None or not isinstance(settings, dict):
        return found
    if method.objective == "matching":
        settings = {**settings, "training": {**BEFORE_SETTLING, **settings.get("training", {})}}
    try:
        return {**found, "settings": Settings(**settings).model_dump(mode="json")}
    except GreymatchError:
        return found


def left(task: Task, out: Path, log: Path) -> dict[str, Any] | None:
    """The result that a run left; one that is not what was asked for, as after a change of the source, is none."""
    try:
        return task.stored(out.parent)
    except GreymatchError as error:
        with log.open("a") as lines:
            lines.write(f"{error}\n")
        return None
