"""`greymatch bench speed`: ratios to plain loops, and how cost grows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from greymatch.cli.bench.asked import commas
from greymatch.cli.bench.options import Out, Quick
from greymatch.cli.bench.perform import QUICK
from greymatch.cli.files import folder
from greymatch.cli.options import Json, Quiet
from greymatch.cli.output import Output, typed
from greymatch.cli.sheets import shown

ALL = ("training", "store", "convolutions", "forecast", "reading", "start-up", "scaling", "processes")
EXAMPLE = "Example: greymatch bench speed --parts training,reading --out speed"
EVERYTHING = commas(ALL)
Parts = Annotated[str, typer.Option(metavar="A,B", help="What to measure.")]


def command(
    parts: Parts = EVERYTHING,
    out: Out = "results",
    quick: Quick = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Training, forecasts, reading and start-up as ratios to plain loops, and how cost grows.

    What a part found is kept in OUT/speed, so that parts can be measured one by one. Times to an error are read off
    the runs in OUT/runs.
    """
    from greymatch.bench.speed import sizes
    from greymatch.bench.speed.kept import keep
    from greymatch.bench.speed.suite import checked_parts, measure

    names = checked_parts([part.strip() for part in parts.split(",") if part.strip()])
    output, size = Output(quiet, as_json), sizes.QUICK if quick else sizes.WHOLE
    where = folder(Path(out) / QUICK if quick else Path(out))
    for part in names:
        output.note(f"measuring {part} ...")
        for found in measure(part, size):  # what is cut short keeps what it has
            keep(where, part, found, _about(size))
    _show(where, Path(out) / "runs", quick, output)


def _show(where: Path, runs: Path, quick: bool, output: Output) -> None:
    """All that is there."""
    from greymatch.bench.speed.kept import kept
    from greymatch.bench.speed.reaching import reaching
    from greymatch.bench.speed.view import view
    from greymatch.bench.view import write_sheets

    found, about = kept(where)
    shape = view(found, list(reaching(runs)))
    written = write_sheets("speed", shape, where, {"quick": quick, "parts": about})
    files = ", ".join(path.name for path in written.files)
    output.show(*(shown(sheet) for sheet in shape.sheets.values()), f"written to {where}: {files}")
    output.finish(written.content)


def _about(sizes: Any) -> dict[str, Any]:
    """The command, the sizes and the machine."""
    from dataclasses import asdict

    from greymatch.bench.run import made_with

    return {"command": typed(), "sizes": asdict(sizes), **made_with()}
