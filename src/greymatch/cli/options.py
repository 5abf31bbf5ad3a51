"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greymatch.cli.guard import remember_json

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[
    bool, typer.Option("--json", callback=remember_json, help="Print one JSON object; all else goes to standard error.")
]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
Draws = Annotated[int, typer.Option(min=1, help="Members of the ensemble; 1 is the central forecast.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file (.safetensors).", show_default=False)]
History = Annotated[Path, typer.Option(help="Data file; each trajectory is known up to its end, or to --until.")]
Until = Annotated[
    str | None, typer.Option(metavar="T", help="Use the history up to and including this time, or date of dated data.")
]
PhysicsFile = Annotated[
    str | None,
    typer.Option(metavar="FILE.py[:NAME]", help="Your physics: a Python file, and the name if it has several."),
]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE.toml", help="Settings.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be given several times."),
]
Minutes = Annotated[float | None, typer.Option(help="Budget in minutes of training.")]
