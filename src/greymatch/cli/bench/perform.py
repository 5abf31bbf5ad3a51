"""Do the runs of a benchmark that are missing, then show and write what all of them tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from greymatch.cli.files import folder
from greymatch.cli.guard import STOPPED
from greymatch.cli.output import Output, typed

if TYPE_CHECKING:
    from rich.table import Table

    from greymatch.bench.benchmark import Benchmark, Plan
    from greymatch.bench.grid import Failure
    from greymatch.bench.plan import Run
    from greymatch.bench.sheet import Sheet
    from greymatch.cli.bench.asked import Asked

QUICK = "quick"


def perform(benchmark: Benchmark, asked: Asked, out: str, jobs: int | None, fresh: bool, output: Output) -> bool:
    """Whether any run failed; Ctrl-C leaves by itself. With no `jobs` at all, 0, only what is there is shown."""
    plan = benchmark.plan(asked.choice(benchmark))
    for run in plan.runs:
        run.asked()  # settings and data are checked before any work is done
    where = Path(out) / QUICK if asked.quick else Path(out)
    runs = folder(where / "runs")
    for run in plan.runs if fresh else ():
        _forget(run, runs)
    for reason in plan.skipped:
        output.note(reason)
    failures = [] if jobs == 0 else _execute(plan.runs, runs, jobs, output.quiet)
    _show(benchmark, plan, where, asked.quick, failures, output)
    for failure in failures:
        typer.echo(failure.text(), err=True)
    return bool(failures)


def _execute(runs: Sequence[Run], where: Path, jobs: int | None, quiet: bool) -> list[Failure]:
    from greymatch.bench import grid
    from greymatch.bench.run import cores
    from greymatch.bench.watch import watch

    try:
        return grid.execute(runs, where, jobs or cores(), watch(quiet))
    except KeyboardInterrupt:
        typer.echo(f"stopped; nothing is lost. Go on with:\n  {typed(without=['--fresh'])}", err=True)
        raise typer.Exit(STOPPED) from None


def _show(
    benchmark: Benchmark, plan: Plan, where: Path, quick: bool, failures: Sequence[Failure], output: Output
) -> None:
    from greymatch import __version__
    from greymatch.bench.grid import stored
    from greymatch.bench.view import write_view

    found = {run.name: stored(run, where / "runs") for run in plan.runs}
    results = {name: result for name, result in found.items() if result is not None}
    view = benchmark.view(list(results.values()))
    view = replace(view, notes=[*view.notes, *plan.skipped])
    failed = [failure.run.name for failure in failures]
    about = {"greymatch": __version__, "quick": quick, "runs": list(results), "failed": failed}
    written = write_view(benchmark.name, view, list(results.values()), where, about)
    files = ", ".join(path.name for path in written.files)
    output.show(*(sheet_table(sheet) for sheet in view.sheets.values()), f"written to {where}: {files}")
    output.finish(written.content)


def sheet_table(sheet: Sheet) -> Table:
    from rich.table import Table

    shown = Table(title=sheet.title, title_justify="left")
    for place, head in enumerate(sheet.heads.values()):
        shown.add_column(head, justify="left" if place < 2 else "right", no_wrap=not place)
    bold = {row for row, _ in sheet.bold}
    for row in range(len(sheet.rows)):
        shown.add_row(*sheet.cells(row), style="bold" if row in bold and len(bold) < len(sheet.rows) else "")
    return shown


def _forget(run: Run, where: Path) -> None:
    from greymatch.bench.grid import result_file
    from greymatch.bench.run import run_folder
    from greymatch.cli.running import forget

    result = result_file(run, where)
    forget(run_folder(result))
    result.unlink(missing_ok=True)
