"""`greymatch report`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greymatch.cli.advising import advised
from greymatch.cli.columns import Columns
from greymatch.cli.files import load_model, ready
from greymatch.cli.options import Draws, Json, Model, PhysicsFile, Quiet, Seed
from greymatch.cli.output import Output, typed
from greymatch.cli.spread import spread
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.models.greybox import GreyBox
    from greymatch.systems.system import System

EXAMPLE = "Example: greymatch report runs/swing/model.safetensors --data test.csv --physics swing.py:physics"


@dataclass(frozen=True)
class Judged:
    """What a model is judged on."""

    test: Trajectories
    train: Trajectories | None
    given: int


@spread
def command(
    model: Model,
    columns: Columns,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Trajectories the model has not seen; else those of --system.")
    ] = None,
    given: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Points shown of each trajectory; else the model's window.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What it was trained on, for the per-time mean.")
    ] = None,
    system: Annotated[str | None, typer.Option(metavar="NAME", help="Built-in system, for its true equations.")] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("report.html"),
    explain: Annotated[
        bool, typer.Option(help="Say what was missing and refit with it, where the training data are known.")
    ] = True,
    draws: Draws = 100,
    seed: Seed = 0,
    physics: PhysicsFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Judge a model on trajectories it has not seen, and write one self-contained page about it."""
    from greymatch.bench.plan import system_named
    from greymatch.bench.result import described
    from greymatch.cli.tables import shown
    from greymatch.evaluation import evaluate
    from greymatch.report.build import write_report

    if data is None and system is None:
        raise GreymatchError("a report needs --data FILE, or --system NAME for that system's own test data.")
    ready(out, (".html", ".htm"))
    box, built_in = load_model(model, physics), system_named(system) if system else None
    judged = _judged(box, data, train, given, built_in, columns, model)
    evaluation = evaluate(box, judged.test, judged.given, judged.train, built_in, draws=draws, seed=seed)
    output = Output(quiet, as_json)
    metrics = model.with_name("metrics.jsonl")
    path = write_report(
        evaluation,
        out,
        train=judged.train,
        system=built_in,
        metrics=metrics if metrics.exists() else None,
        command=typed(),
        advice=advised(box, judged.train, output) if explain else None,
    )
    output.show(*shown(evaluation), f"report: {path}")
    output.finish(described(evaluation) | {"report": str(path)})


def _judged(
    model: GreyBox,
    data: Path | None,
    train: Path | None,
    given: int | None,
    system: System | None,
    columns: Columns,
    where: Path,
) -> Judged:
    def opened(path: Path | None, split: str) -> Trajectories | None:
        if path is not None:
            return columns.as_fitted(where, path).in_memory(model.physics, path)
        return system.data(split) if system is not None and data is None else None

    test = opened(data, "test")
    assert test is not None  # one of --data and --system was given
    shown = given or (system.given if system is not None else model.settings.window)
    return Judged(test, opened(train, "train"), shown)
