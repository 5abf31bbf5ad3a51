"""`greymatch weather report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greymatch.cli.options import Json, Quiet
from greymatch.cli.output import Output, typed
from greymatch.cli.weather.evaluate import court_of
from greymatch.cli.weather.options import Archived, Every, Leads, Years, lead_hours, year_span

EXAMPLE = "Example: greymatch weather report runs/weather/model.safetensors --data atmosphere --every 13"


def command(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model files; the page is about the first.")],
    data: Archived,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("weather.html"),
    years: Years = "2017-2018",
    every: Every = 13,
    leads: Leads = 42,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Judge models on years they have not seen, and write one self-contained page with curves, maps and winds."""
    from greymatch.weather.model.model import load
    from greymatch.weather.read import read
    from greymatch.weather.report.build import write_report
    from greymatch.weather.report.judged import Judged, named
    from greymatch.weather.winds import true_winds

    known, archive = named([load(path) for path in models], models), read(data)
    hours = lead_hours(leads, next(iter(known.values())).network.shape.unit)
    court = court_of(archive, archive.years(*year_span(years)).load(), hours, every)
    page = write_report(Judged(known, archive, court, true_winds(data)), out, typed())
    output = Output(quiet, as_json)
    output.show(f"written to {page}")
    output.finish({"page": str(page), "models": list(known), "starts": len(court.starts)})
