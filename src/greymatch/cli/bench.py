"""`greymatch bench`: one function for each benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.assignments import chosen, with_budget
from greymatch.cli.files import folder
from greymatch.cli.options import Changes, Draws, Json, Minutes, Quiet
from greymatch.cli.output import Output, typed
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from rich.table import Table

    from greymatch.bench.plan import Run
    from greymatch.bench.table import Row

app = typer.Typer(no_args_is_help=True, help="Benchmarks: many runs, one table.")

EXAMPLE = "Example: greymatch bench table --systems pendulum --methods vgb-dm,gb-dm --seeds 0,1,2 --minutes 3 --jobs 2"
QUICK = {"training.steps": 60, "training.minutes": None, "training.validations": 3}
QUICK_DRAWS, QUICK_TRAJECTORIES = 10, 40


@app.callback()
def bench() -> None:
    """Benchmarks: many runs, one table."""


@app.command(epilog=EXAMPLE)
def table(
    systems: Annotated[str, typer.Option(metavar="A,B", help="Built-in systems.")] = "pendulum",
    methods: Annotated[str, typer.Option(metavar="A,B", help="Methods.")] = "vgb-dm,gb-dm,vbb-dm",
    seeds: Annotated[str, typer.Option(metavar="0,1,2", help="Seeds.")] = "0,1,2",
    minutes: Minutes = None,
    changes: Changes = None,
    draws: Draws = 100,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where tables and runs go.")] = Path("results/table"),
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time; they share the processors.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A trial of seconds; its numbers mean nothing.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the results that are there.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit every method on every system with every seed, and print the honest table.

    Runs that are there already are kept, and those cut short go on where they stopped: the same command resumes.
    """
    from greymatch.bench.grid import execute, result_file, stored
    from greymatch.bench.watch import watch

    asked = with_budget(chosen(changes or [], training__minutes=minutes))
    runs = _runs(_list(systems, "systems"), _list(methods, "methods"), _seeds(seeds), asked, draws, quick)
    where = folder(out / "runs")
    if fresh:
        for run in runs:
            _forget(result_file(run, where))
    try:
        failures = execute(runs, where, jobs, watch(quiet))
    except KeyboardInterrupt:
        typer.echo(f"stopped; nothing is lost. Go on with:\n  {typed(without=['--fresh'])}", err=True)
        raise typer.Exit(130) from None
    found = {run.name: stored(run, where) for run in runs}
    results = {name: result for name, result in found.items() if result is not None}
    output = Output(quiet, as_json)
    output.finish(_written(results, out, quick, [failure.run.name for failure in failures], output))
    for failure in failures:
        typer.echo(failure.text(), err=True)
    raise typer.Exit(1 if failures else 0)


def _runs(
    systems: list[str], methods: list[str], seeds: list[int], asked: dict[str, Any], draws: int, quick: bool
) -> list[Run]:
    """Every combination, seed by seed so that a table cut short holds all methods; all are checked at once."""
    from greymatch.bench.plan import Run

    changes = {**QUICK, **asked} if quick else asked
    draws, trajectories = (min(draws, QUICK_DRAWS), QUICK_TRAJECTORIES) if quick else (draws, None)
    seeds = seeds[:1] if quick else seeds
    runs = [
        Run(system, method, seed, changes, draws, trajectories)
        for seed in seeds
        for system in systems
        for method in methods
    ]
    for run in runs:
        run.settings()
    return runs


def _written(
    results: dict[str, dict[str, Any]], out: Path, quick: bool, failed: list[str], output: Output
) -> dict[str, Any]:
    from greymatch import __version__
    from greymatch.bench.table import QUICK as QUICK_WARNING
    from greymatch.bench.table import rows, write_table

    found = rows(results.values())
    about = {"greymatch": __version__, "quick": quick, "runs": list(results), "failed": failed}
    content = write_table(found, out, about)
    output.show(*_tables(found), *([QUICK_WARNING] if quick else []), f"written to {out / 'table.md'}, .csv and .json")
    return content


def _tables(found: list[Row]) -> list[Table]:
    """One for each system, with the columns that matter most; the files hold them all."""
    return [
        _table(system, [row for row in found if row.system == system])
        for system in dict.fromkeys(r.system for r in found)
    ]


def _table(system: str, found: list[Row]) -> Table:
    from rich.table import Table

    from greymatch.bench.table import SHORT, cells

    shown = Table(title=f"{system}: errors on test data, mean ± standard deviation over seeds", title_justify="left")
    for head in SHORT:
        shown.add_column(head, justify="left" if head == "method" else "right")
    for row in found:
        shown.add_row(*(cells(row)[head] for head in SHORT), style="bold" if row.runs else "")
    return shown


def _forget(result: Path) -> None:
    from greymatch.bench.run import run_folder
    from greymatch.cli.running import forget

    forget(run_folder(result))
    result.unlink(missing_ok=True)


def _list(text: str, option: str) -> list[str]:
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise GreymatchError(f"`--{option}` must name at least one, with commas between; got {text!r}.")
    return found


def _seeds(text: str) -> list[int]:
    parts = _list(text, "seeds")
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise GreymatchError(f"`--seeds` must be whole numbers with commas between; got {text!r}.") from None
