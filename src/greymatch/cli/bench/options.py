"""The options of every benchmark."""

from __future__ import annotations

from typing import Annotated

import typer

Systems = Annotated[str, typer.Option(metavar="A,B", help="Built-in systems, or all.")]
Methods = Annotated[str, typer.Option(metavar="A,B", help="Methods.")]
Seeds = Annotated[str, typer.Option(metavar="0,1,2", help="Seeds.")]
Noise = Annotated[
    str,
    typer.Option(
        metavar="0,0.01",
        help="White noise put on all observations, in units of each state's spread, where it is asked.",
    ),
]
Members = Annotated[
    int | None,
    typer.Option("--draws", min=1, help="Members of a forecast.", show_default="what suits the system"),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SYSTEM=FOLDER",
        help="Files train, val or test (.nc, .parquet ...) that replace simulated splits; may be given several times.",
    ),
]
Out = Annotated[str, typer.Option(metavar="FOLDER", help="Where tables, pictures and runs/ go.")]
Quick = Annotated[bool, typer.Option("--quick", help="A short version in minutes, in a folder of its own: OUT/quick.")]
Stored = Annotated[bool, typer.Option("--stored", help="Run nothing: show the results that are there.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Replace the results that are there.")]
