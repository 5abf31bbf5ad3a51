"""`greymatch weather monthly`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.assignments import chosen, with_budget
from greymatch.cli.files import folder
from greymatch.cli.options import Changes, Json, Minutes, Quiet
from greymatch.cli.output import Output
from greymatch.cli.sheets import shown
from greymatch.cli.weather.options import Archived, Years, whole_numbers, year_span

if TYPE_CHECKING:
    from greymatch.bench.sheet import Sheet
    from greymatch.weather.archive import Archive

EXAMPLE = "Example: greymatch weather monthly --data atmosphere --out results/weather --minutes 5"
BUDGET = 5.0


def command(
    data: Archived,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where tables and the picture go.")],
    minutes: Minutes = None,
    years: Years = "2017-2018",
    seeds: Annotated[str, typer.Option(metavar="0,1,2", help="Seeds.")] = "0",
    changes: Changes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn monthly means and forecast one to five months ahead, beside persistence and climatology."""
    from greymatch.bench.pictures import save
    from greymatch.bench.result import plain
    from greymatch.files import write_bytes, write_json
    from greymatch.weather import read
    from greymatch.weather.bench.pictures import curves

    asked = with_budget(chosen(changes or [], training__minutes=minutes)) or {"training.minutes": BUDGET}
    where, numbers = folder(out), whole_numbers(seeds, "--seeds")
    scored = _scored(read(data).monthly().load(), year_span(years), [{"training.seed": n, **asked} for n in numbers])
    sheets = _sheets(scored)
    content = plain({name: sheet.plain() for name, sheet in sheets.items()})
    write_json(where / "monthly.json", content)
    for name, sheet in sheets.items():
        write_bytes(where / f"monthly-{name}.csv", sheet.comma_separated().encode())
    write_bytes(where / "monthly.md", "".join(f"**{s.title}**\n\n{s.markdown()}\n" for s in sheets.values()).encode())
    save(lambda: curves(scored, "rmse"), where / "monthly.png")
    output = Output(quiet, as_json)
    output.show(*(shown(sheet) for sheet in sheets.values()), f"written to {where}")
    output.finish(content)


def _scored(monthly: Archive, span: tuple[int, int], seeds: list[dict[str, Any]]) -> dict[str, Any]:
    from greymatch.weather import Splits, start_dates
    from greymatch.weather.judging import Court
    from greymatch.weather.monthly import LEADS, SUITED, MonthlyModel
    from greymatch.weather.settings import WeatherSettings

    splits, test = Splits(), monthly.years(*span)
    settings = [WeatherSettings().updated({**SUITED, **changes}) for changes in seeds]
    court = Court.of(monthly.years(*splits.train), test, LEADS, start_dates(test, LEADS))
    models = [MonthlyModel.learned(monthly, one, splits) for one in settings]
    ours = [court.judge(model.predictor(monthly)) for model in models]
    return {"vgb-dm": ours, **{name: [court.judge(predict)] for name, predict in court.references().items()}}


def _sheets(scored: dict[str, Any]) -> dict[str, Sheet]:
    from greymatch.weather.bench.tables import cells_sheet, score_sheet

    return {
        "rmse": score_sheet("RMSE of monthly means", "rmse", scored),
        "acc": score_sheet("ACC of monthly means", "acc", scored),
        "cells": cells_sheet(scored),
    }
