"""Do the runs of a benchmark that are missing, then show and write what all of them tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from greymatch.cli.files import folder
from greymatch.cli.output import Output
from greymatch.cli.places import carry_out, forget_run
from greymatch.cli.sheets import shown

if TYPE_CHECKING:
    from greymatch.bench.benchmark import Benchmark, Plan
    from greymatch.bench.grid import Failure
    from greymatch.cli.bench.asked import Asked

QUICK = "quick"


def perform(
    benchmark: Benchmark, asked: Asked, out: str, jobs: int | None, dask: str | None, fresh: bool, output: Output
) -> bool:
    """Whether any run failed; Ctrl-C leaves by itself. With no `jobs` at all, 0, only what is there is shown."""
    plan = benchmark.plan(asked.choice(benchmark))
    for run in plan.runs:
        run.asked()  # settings and data are checked before any work is done
    where = Path(out) / QUICK if asked.quick else Path(out)
    runs = folder(where / "runs")
    for run in plan.runs if fresh else ():
        forget_run(run, runs)
    for reason in plan.skipped:
        output.note(reason)
    failures = [] if jobs == 0 else carry_out(plan.runs, runs, jobs, dask, output.quiet)
    _show(benchmark, plan, where, asked.quick, failures, output)
    for failure in failures:
        typer.echo(failure.text(), err=True)
    return bool(failures)


def _show(
    benchmark: Benchmark, plan: Plan, where: Path, quick: bool, failures: Sequence[Failure], output: Output
) -> None:
    from greymatch import __version__
    from greymatch.bench.view import write_view

    found = {run.name: run.stored(where / "runs") for run in plan.runs}
    results = {name: result for name, result in found.items() if result is not None}
    view = benchmark.view(list(results.values()))
    view = replace(view, notes=[*view.notes, *plan.skipped])
    failed = [failure.run.name for failure in failures]
    about = {"greymatch": __version__, "quick": quick, "runs": list(results), "failed": failed}
    written = write_view(benchmark.name, view, list(results.values()), where, about)
    files = ", ".join(path.name for path in written.files)
    output.show(*(shown(sheet) for sheet in view.sheets.values()), f"written to {where}: {files}")
    output.finish(written.content)
