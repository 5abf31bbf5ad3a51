"""Where the runs of a command are carried out, and what becomes of Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greymatch.cli.guard import STOPPED
from greymatch.cli.output import typed

if TYPE_CHECKING:
    from greymatch.bench.grid import Failure
    from greymatch.bench.jobs import Place, Task

Jobs = Annotated[
    int | None, typer.Option(min=1, help="Runs at a time, one thread each.", show_default="number of cores")
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="local|tcp://HOST:PORT",
        help="Spread the runs over a Dask cluster: one on this machine, or the one with this scheduler.",
    ),
]


def carry_out(runs: Sequence[Task], where: Path, jobs: int | None, dask: str | None, quiet: bool) -> list[Failure]:
    """Those that are missing; Ctrl-C leaves by itself, with the words that go on."""
    from greymatch.bench import grid
    from greymatch.bench.watch import watch

    try:
        with _place(jobs, dask) as place:
            return grid.execute(runs, where, place, watch(quiet))
    except KeyboardInterrupt:
        typer.echo(f"stopped; nothing is lost. Go on with:\n  {typed(without=['--fresh'])}", err=True)
        raise typer.Exit(STOPPED) from None


@contextmanager
def _place(jobs: int | None, dask: str | None) -> Iterator[Place]:
    from greymatch.bench.cluster import cluster
    from greymatch.bench.processes import Processes
    from greymatch.bench.run import cores

    if dask is None:
        yield Processes(jobs or cores())
    else:
        with cluster(dask, jobs or cores()) as place:
            yield place


def forget_run(task: Task, where: Path) -> None:
    """Remove its result and the run behind it."""
    from greymatch.bench.jobs import result_file, run_folder
    from greymatch.cli.running import forget

    result = result_file(task, where)
    forget(run_folder(result))
    result.unlink(missing_ok=True)
