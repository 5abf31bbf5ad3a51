"""`greymatch bench`: one command for each benchmark, all with the same options."""

from __future__ import annotations

from collections.abc import Callable

import typer

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.views import BENCHMARKS
from greymatch.cli.bench import speed
from greymatch.cli.bench.asked import Asked, commas
from greymatch.cli.bench.options import Data, Fresh, Members, Methods, Noise, Out, Quick, Seeds, Stored, Systems
from greymatch.cli.bench.perform import perform
from greymatch.cli.options import Changes, Json, Minutes, Quiet
from greymatch.cli.output import Output
from greymatch.cli.places import Dask, Jobs
from greymatch.errors import GreymatchError

app = typer.Typer(no_args_is_help=True, help="Benchmarks: many runs, kept in one folder, seen from several sides.")
RESUMES = (
    "Runs that are there already are kept, and those cut short go on where they stopped: the same command resumes."
)


def _command(benchmark: Benchmark) -> Callable[..., None]:
    usual = {name: commas(getattr(benchmark, name)) for name in ("systems", "methods", "seeds", "noise")}

    def command(
        systems: Systems = usual["systems"],
        methods: Methods = usual["methods"],
        seeds: Seeds = usual["seeds"],
        noise: Noise = usual["noise"],
        minutes: Minutes = None,
        changes: Changes = None,
        draws: Members = None,
        data: Data = None,
        out: Out = "results",
        jobs: Jobs = None,
        dask: Dask = None,
        quick: Quick = False,
        fresh: Fresh = False,
        stored: Stored = False,
        quiet: Quiet = False,
        as_json: Json = False,
    ) -> None:
        asked = Asked(systems, methods, seeds, minutes, tuple(changes or ()), draws, tuple(data or ()), quick, noise)
        if fresh and stored:
            raise GreymatchError("`--fresh` replaces results and `--stored` only shows them. Leave one out.")
        failed = perform(benchmark, asked, out, 0 if stored else jobs, dask, fresh, Output(quiet, as_json))
        raise typer.Exit(1 if failed else 0)

    return command


for _benchmark in BENCHMARKS.values():
    _example = f"Example: greymatch bench {_benchmark.name} --minutes 3 --jobs 2"
    app.command(_benchmark.name, help=f"{_benchmark.about}\n\n{RESUMES}", epilog=_example)(_command(_benchmark))
app.command("speed", epilog=speed.EXAMPLE)(speed.command)

__all__ = ["app"]
