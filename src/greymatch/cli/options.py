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
Until = Annotated[float | None, typer.Option(metavar="T", help="Use the history up to and including this time.")]
PhysicsFile = Annotated[
    str | None,
    typer.Option(metavar="FILE.py:NAME", help="Your physics: a Python file and the name of a Physics in it."),
]
TrajectoryColumn = Annotated[str, typer.Option("--trajectory", metavar="COL", help="Name of the trajectory column.")]
TimeColumn = Annotated[str, typer.Option("--time", metavar="COL", help="Name of the time column.")]
SystemName = Annotated[str | None, typer.Option("--system", metavar="NAME", help="A built-in system.")]
DataFile = Annotated[str | None, typer.Option("--data", metavar="FILE", help="Trajectories to learn from.")]
ValidationFile = Annotated[
    str | None,
    typer.Option("--validation", metavar="FILE", help="Trajectories to choose the weights by; else a tenth of --data."),
]
States = Annotated[str | None, typer.Option(metavar="A,B", help="State columns; else those of the physics.")]
Inputs = Annotated[str | None, typer.Option(metavar="U", help="Input columns; else those of the physics.")]
TrajectoryName = Annotated[
    str | None, typer.Option("--trajectory", metavar="COL", help="Name of the trajectory column.")
]
TimeName = Annotated[str | None, typer.Option("--time", metavar="COL", help="Name of the time column.")]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE.toml", help="Settings.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be given several times."),
]
Minutes = Annotated[float | None, typer.Option(help="Budget in minutes of training.")]
