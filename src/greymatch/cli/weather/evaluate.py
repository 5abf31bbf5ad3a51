"""`greymatch weather evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from greymatch.cli.options import Draws, Json, Model, Quiet, Seed
from greymatch.cli.output import Output
from greymatch.cli.weather.options import Archived, Every, Leads, Years, lead_hours, year_span

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from greymatch.weather.archive import Archive
    from greymatch.weather.judging import Court

EXAMPLE = "Example: greymatch weather evaluate runs/weather/model.safetensors --data atmosphere --every 8"
SCORES = {"rmse": "RMSE", "acc": "ACC"}
ENSEMBLE = ("crps", "spread_skill")


def command(
    model: Model,
    data: Archived,
    years: Years = "2017-2018",
    every: Every = 1,
    leads: Leads = 42,
    draws: Draws = 1,
    seed: Seed = 0,
    days: Annotated[int, typer.Option(min=0, help="Also forecast so many days ahead: does it stay in range?")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Judge a model by latitude-weighted RMSE and ACC, beside persistence, damped persistence and climatology."""
    from greymatch.weather.model.model import load
    from greymatch.weather.read import read
    from greymatch.weather.stability import spread_out, stability

    known, archive = load(model), read(data)
    hours = lead_hours(leads, known.network.shape.unit)
    court = court_of(archive, archive.years(*year_span(years)).load(), hours, every)  # read many times over
    rows = {known.network.settings.method: known.predictor(archive, hours, draws, seed), **court.references()}
    found = {name: court.judge(predict) for name, predict in rows.items()}
    long = stability(known, archive, court.train, spread_out(court.starts), days) if days else None
    output = Output(quiet, as_json)
    output.show(*_tables(found), *([long.text()] if long else []))
    told = {name: _numbers(scores) for name, scores in found.items()}
    output.finish(told | ({"stability": long.plain()} if long else {}))


def court_of(archive: Archive, test: Archive, hours: list[int], every: int) -> Court:
    from greymatch.weather import Splits, start_dates
    from greymatch.weather.judging import Court

    return Court.of(archive.years(*Splits().train).load(), test, hours, start_dates(test, hours, every))


def _tables(found: dict[str, xr.Dataset]) -> list[Table]:
    """Of all by each score, and of ensembles by theirs."""
    own = {name: scores for name, scores in found.items() if ENSEMBLE[0] in scores}
    return [_table(found, score) for score in SCORES] + [_table(own, score) for score in ENSEMBLE if own]


def _table(found: dict[str, xr.Dataset], score: str) -> Table:
    from rich.table import Table

    first = next(iter(found.values()))
    leads = first["lead"].values.tolist()
    table = Table("field", "forecast", *(f"{lead} h" for lead in leads), title=SCORES.get(score, score))
    for field in first["field"].values.tolist():
        for name, scores in found.items():
            values = scores[score].sel(field=field).values
            table.add_row(field, name, *(f"{value:.3g}" if score == "rmse" else f"{value:.3f}" for value in values))
    return table


def _numbers(scores: xr.Dataset) -> dict[str, dict[str, list[float]]]:
    """score -> field -> by lead."""
    return {
        score: {str(field): scores[score].sel(field=field).values.tolist() for field in scores["field"].values}
        for score in (*SCORES, *ENSEMBLE)
        if score in scores
    }
