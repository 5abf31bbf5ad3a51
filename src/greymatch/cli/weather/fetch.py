"""`greymatch weather fetch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greymatch.cli.files import folder
from greymatch.cli.options import Json, Quiet
from greymatch.cli.output import Output
from greymatch.cli.weather.options import Layout, Out, names, year_span

EXAMPLE = "Example: greymatch weather fetch --out weatherbench --layout wb1"
FIELDS = "z500,t850,t2m,u10,v10"


def command(
    out: Out,
    layout: Annotated[
        Layout, typer.Option(help="wb1: all years of WeatherBench 1, hourly; wb2: some years of WeatherBench 2.")
    ] = Layout.WB1,
    fields: Annotated[str, typer.Option(help="Fields between commas.")] = FIELDS,
    years: Annotated[str, typer.Option(help="For wb2: the years wanted.")] = "2006-2018",
    base: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="A mirror instead of the archive's own server.")
    ] = None,
    checksums: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For wb1: digests of the downloads, as sha256sum writes them.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Download ERA5 on the 32 x 64 grid, by WeatherBench 1 (about 6 GB) or 2.

    A download that breaks goes on where it stopped, at once or when the command is given again. Every file is checked.
    """
    from greymatch.weather.fetch import wb1, wb2
    from greymatch.weather.fetch.digest import read_digests
    from greymatch.weather.fields import fields_named
    from greymatch.weather.meter import meter

    chosen, span = fields_named(names(fields)), year_span(years)
    digests = read_digests(checksums) if checksums else {}
    shown = meter(quiet, in_bytes=True)
    try:
        if layout is Layout.WB1:
            wb1.fetch(folder(out), chosen, base, digests, shown)
        else:
            wb2.fetch(folder(out) / wb2.NAME, chosen, span, base, shown)
    finally:
        shown.close()
    output = Output(quiet, as_json)
    output.show(f"fetched {', '.join(field.name for field in chosen)} into {out}")
    output.finish({"out": str(out), "layout": str(layout), "fields": [field.name for field in chosen]})
