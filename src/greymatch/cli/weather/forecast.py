"""`greymatch weather forecast`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greymatch.cli.options import Draws, Json, Model, Quiet, Seed
from greymatch.cli.output import Output
from greymatch.cli.weather.options import Archived, Every, Leads, Years, lead_hours, year_span
from greymatch.errors import GreymatchError

EXAMPLE = "Example: greymatch weather forecast runs/weather/model.safetensors --data atmosphere --out forecasts.zarr"


def command(
    model: Model,
    data: Archived,
    out: Annotated[Path, typer.Option(metavar="STORE.zarr", help="A new Zarr store, in WeatherBench 2's layout.")],
    years: Years = "2017-2018",
    every: Every = 1,
    leads: Leads = 42,
    draws: Draws = 1,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Forecast from every state of some years whose leads end in them, for WeatherBench 2's own evaluation to read."""
    from greymatch.weather.forecasts import write_forecasts
    from greymatch.weather.labelled import start_dates
    from greymatch.weather.model.model import load
    from greymatch.weather.read import read

    if out.suffix != ".zarr":
        raise GreymatchError(f"`--out` must end in .zarr; got {str(out)!r}.")
    known, archive = load(model), read(data)
    hours = lead_hours(leads, known.network.shape.unit)
    starts = start_dates(archive.years(*year_span(years)), hours, every)
    write_forecasts(known.predictor(archive, hours, draws, seed), starts, out, archive)
    output = Output(quiet, as_json)
    output.show(f"{len(starts)} forecasts to {leads} h into {out}")
    output.finish({"out": str(out), "starts": len(starts), "leads": hours})
