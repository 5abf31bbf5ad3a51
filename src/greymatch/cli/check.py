"""`greymatch check`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from greymatch.cli.assignments import assignments, config
from greymatch.cli.guard import WRONG_INPUT
from greymatch.cli.options import Changes, Config, Json, Quiet
from greymatch.cli.output import Output
from greymatch.cli.source import Source
from greymatch.cli.spread import spread

if TYPE_CHECKING:
    from greymatch.checking.check import Check

EXAMPLE = "Example: greymatch check --physics swing.py:physics --data swings.csv --trajectory id --time t"


@spread
def command(
    source: Source,
    settings: Config = None,
    changes: Changes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say what was understood of physics and data, and what is wrong with them, before any training.

    Ends with code 0 if they can be fitted, else 2.
    """
    from greymatch.checking.check import check
    from greymatch.settings_tree import flat

    told = flat(config(settings)) | assignments(changes or [])
    problem = source.open()
    found = check(problem.physics, problem.data, problem.validation, settings=problem.settings.updated(told))
    found = replace(found, choices=problem.chosen(told))
    following = shlex.join([*next_words(source), *_settings_words(settings, changes)])
    output = Output(quiet, as_json)
    output.show(str(found), *([f"\nNext:\n  {following}"] if found.fits else []))
    output.finish(tree(found) | {"next": following if found.fits else None})
    raise typer.Exit(0 if found.fits else WRONG_INPUT)


def next_words(source: Source) -> list[str]:
    """The fit that this was a check for."""
    return ["greymatch", "fit", *source.words(), "--out", f"runs/{source.name}"]


def _settings_words(settings: object, changes: list[str] | None) -> list[str]:
    words = [] if settings is None else ["--config", str(settings)]
    return words + [word for change in changes or [] for word in ("--set", change)]


def tree(found: Check) -> dict[str, Any]:
    return {
        "fits": found.fits,
        "facts": found.facts,
        "settings": {choice.key: {"value": choice.value, "why": choice.why} for choice in found.choices},
        "findings": [{"level": one.level.value, "what": one.what, "fix": one.fix} for one in found.findings],
    }
