"""`greymatch weather bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.assignments import chosen, with_budget
from greymatch.cli.files import folder
from greymatch.cli.options import Changes, Json, Minutes, Quiet
from greymatch.cli.output import Output
from greymatch.cli.sheets import shown
from greymatch.cli.weather.options import Archived, Every, Years, names, whole_numbers, year_span

if TYPE_CHECKING:
    from greymatch.weather.bench.run import Bench

EXAMPLE = "Example: greymatch weather bench --data atmosphere --out results/weather --minutes 60"
METHODS, SEEDS, BUDGET = "vgb-dm,black-box,climode", "0", 60.0


def command(
    data: Archived,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where tables, pictures and runs/ go.")] = Path(
        "results/weather"
    ),
    methods: Annotated[str, typer.Option(metavar="A,B", help="Methods.")] = METHODS,
    seeds: Annotated[str, typer.Option(metavar="0,1,2", help="Seeds.")] = SEEDS,
    minutes: Minutes = None,
    share: Annotated[float, typer.Option(help="Share of the training data, such as 0.1.")] = 1.0,
    years: Years = "2017-2018",
    every: Every = 13,
    days: Annotated[int, typer.Option(min=0, help="Length of the long forecasts; 0: none.")] = 30,
    cost: Annotated[bool, typer.Option(help="Measure the speed of training and its memory, too.")] = True,
    changes: Changes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train all methods at one budget and judge them beside the references, by RMSE and ACC at all leads.

    Runs that are there already are kept, and those cut short go on where they stopped: the same command resumes.
    """
    from greymatch.weather.bench.cost import costs
    from greymatch.weather.bench.plan import Run
    from greymatch.weather.bench.write import findings, write

    asked = with_budget(chosen(changes or [], training__minutes=minutes)) or {"training.minutes": BUDGET}
    numbers = whole_numbers(seeds, "--seeds")
    runs = [Run(method, seed, share, asked) for seed in numbers for method in names(methods)]
    for run in runs:
        run.settings()  # checked before any work is done
    output, where = Output(quiet, as_json), folder(out)
    bench = _bench(data, where, years, every, days, quiet)
    bench.refer()
    results = [_told(bench.perform(run), output) for run in runs]
    found = findings(bench, results, costs(where, data, runs[0].settings()) if cost else {})
    files = write(bench, found, where)
    output.show(*(shown(sheet) for sheet in found.sheets.values()), *found.notes)
    output.show(f"written to {where}: {', '.join(path.name for path in files)}")
    output.finish({"notes": found.notes, **{name: sheet.plain() for name, sheet in found.sheets.items()}})


def _bench(data: Path, where: Path, years: str, every: int, days: int, quiet: bool) -> Bench:
    from greymatch.weather import Splits, read, start_dates
    from greymatch.weather.bench.run import Bench
    from greymatch.weather.judging import Court
    from greymatch.weather.references import LEADS
    from greymatch.weather.winds import true_winds

    archive = read(data).load()
    train, test = archive.years(*Splits().train), archive.years(*year_span(years))
    court = Court.of(train, test, LEADS, start_dates(test, LEADS, every))
    return Bench(archive, court, true_winds(data), where, days, quiet)


def _told(result: dict[str, Any], output: Output) -> dict[str, Any]:
    output.note(f"{result['name']}: validation error {result['record']['validation_error']:.3g}")
    return result
