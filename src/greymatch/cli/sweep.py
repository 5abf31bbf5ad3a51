"""`greymatch sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.assignments import chosen, config, scalar, with_budget
from greymatch.cli.bench.asked import seeds_of
from greymatch.cli.bench.options import Fresh, Seeds
from greymatch.cli.files import folder
from greymatch.cli.options import Changes, Config, Json, Minutes, Quiet
from greymatch.cli.output import Output
from greymatch.cli.places import Dask, Jobs, carry_out, forget_run
from greymatch.cli.sheets import shown
from greymatch.cli.source import Source
from greymatch.cli.spread import spread
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.bench.grid import Failure
    from greymatch.settings import Settings
    from greymatch.sweep.trial import Trial

EXAMPLE = (
    "Examples:\n\n"
    "greymatch sweep --system pendulum --over residual.width=16,32,64 --over matching.points=4,8 --minutes 1\n\n"
    "greymatch sweep --physics swing.py:physics --data swings.csv --over training.rate=1e-4:1e-2:log --random 20"
)
SAME_CLOCK = {"training.clock": "processor"}  # a busy machine must not make a setting look worse

ERRORS = "Errors are mean squares of validation forecasts, relative to the variance of the data."


@spread
def command(
    source: Source,
    over: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=A,B | KEY=LOW:HIGH[:log]",
            help="Values of a setting, or with --random a range; may be given several times.",
        ),
    ],
    settings: Config = None,
    changes: Changes = None,
    minutes: Minutes = None,
    steps: Annotated[int | None, typer.Option(help="Budget of each fit in steps.")] = None,
    random: Annotated[
        int | None, typer.Option("--random", metavar="N", min=1, help="N combinations at random, not all of them.")
    ] = None,
    choice: Annotated[int, typer.Option("--choice-seed", help="Seed of the combinations at random.")] = 0,
    seeds: Seeds = "0",
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where all goes; else sweeps/NAME.")] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    fresh: Fresh = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit with many combinations of settings and list them by the error of their validation forecasts.

    The same command goes on where it was stopped; what is done is not done again.
    """
    asked = chosen(changes or [], training__minutes=minutes, training__steps=steps)
    trials = _trials(source, _combinations(over, random, choice), {**config(settings)}, asked, seeds_of(seeds))
    output, where = Output(quiet, as_json), out or Path("sweeps") / source.name
    runs = folder(where / "runs")
    for trial in trials if fresh else ():
        forget_run(trial, runs)
    failures = carry_out(trials, runs, jobs, dask, quiet)
    _show(trials, where, failures, output)
    raise typer.Exit(1 if failures else 0)


def _combinations(over: Sequence[str], random: int | None, seed: int) -> list[dict[str, Any]]:
    from greymatch.sweep.space import grid, parse, sample

    space = parse(over, scalar)
    if "training.seed" in space:
        raise GreymatchError("`--over training.seed=...` is not for a sweep. Use --seeds.")
    return grid(space) if random is None else sample(space, random, seed)


def _trials(
    source: Source, combinations: list[dict[str, Any]], base: dict[str, Any], asked: dict[str, Any], seeds: list[int]
) -> list[Trial]:
    """Every combination with every seed, checked before any work is done."""
    from greymatch.methods import method_named
    from greymatch.sweep.trial import Trial

    common = source.open().settings.updated(SAME_CLOCK).updated(base).updated(with_budget(asked))
    clash = [key for key in asked if any(key in changes for changes in combinations)]
    if clash:
        raise GreymatchError(f"`--over` and another option both say {clash[0]!r}; leave one out.")

    def told(changes: dict[str, Any], seed: int) -> Settings:
        found = common.updated(with_budget(changes)).updated({"training.seed": seed})
        method_named(found.method)
        return found

    return [Trial(source, told(changes, seed), changes) for seed in seeds for changes in combinations]


def _show(trials: Sequence[Trial], where: Path, failures: Sequence[Failure], output: Output) -> None:
    from greymatch import __version__
    from greymatch.bench.view import View, write_sheets
    from greymatch.sweep.table import table

    found = [(trial, trial.stored(where / "runs")) for trial in trials]
    done = [(trial, result) for trial, result in found if result is not None]
    failed = [failure.run.name for failure in failures]
    notes = [f"{len(done)} of {len(trials)} fits are done. {ERRORS}"]
    notes += [f"{name} failed." for name in failed]
    view = View({"sweep": table(done)}, notes)
    about = {"greymatch": __version__, "source": trials[0].source.said(), "failed": failed}
    written = write_sheets("sweep", view, where, about)
    files = ", ".join(path.name for path in written.files)
    output.show(shown(view.sheets["sweep"]), f"written to {where}: {files}; models: {where / 'runs'}")
    output.finish(written.content)
    for failure in failures:
        typer.echo(failure.text(), err=True)
