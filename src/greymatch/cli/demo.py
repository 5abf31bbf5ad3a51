"""`greymatch demo`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.advising import advised
from greymatch.cli.files import folder
from greymatch.cli.options import Draws, Json, Quiet
from greymatch.cli.output import Output
from greymatch.cli.running import forget, started, train
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.evaluation import Evaluation
    from greymatch.explain.advice import Advice
    from greymatch.models.greybox import GreyBox
    from greymatch.systems.system import System
    from greymatch.training.progress import Meter

EXAMPLE = "Example: greymatch demo --out greymatch-demo --minutes 1.5"
SYSTEM = "pendulum"


def command(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where everything goes.")] = Path("greymatch-demo"),
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = 1.5,
    seed: Annotated[int, typer.Option(help="Seed of training and draws.")] = 0,
    draws: Draws = 100,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over, whatever is in the folder.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a damped pendulum whose friction is unknown, say what was missing, forecast it, and compare with trivial
    references.

    Ends with code 0 if the model beat every reference, else 1. A demo that was stopped goes on where it was.
    """
    from greymatch.bench.plan import system_named
    from greymatch.bench.result import described
    from greymatch.cli.tables import shown
    from greymatch.files import write_json

    output = Output(quiet, as_json)
    if fresh:
        forget(out / "run")
    demo = Demo(system_named(SYSTEM), folder(out), minutes, seed, draws)
    output.note(f"{demo.system.title}: making data, then training for {minutes:g} minutes")
    data = demo.system.data("train")
    model = demo.fitted(data, quiet)
    output.note("asking what was missing, and forecasting")
    advice, evaluation = advised(model, data, output), demo.evaluated(model, data)
    missing = str(advice.explanation) if advice else "not explained"
    result = described(evaluation) | {"missing": missing, "files": demo.save(evaluation, data, advice)}
    write_json(out / "result.json", result)
    written = "\n".join(f"  {name:9} {path}" for name, path in result["files"].items())
    output.show(*shown(evaluation), f"What was missing:\n{indent(missing, '  ')}", f"Written:\n{written}")
    output.finish(result)
    raise typer.Exit(0 if evaluation.beats_references else 1)


@dataclass(frozen=True)
class Demo:
    """Fit, evaluate and save one system in one folder."""

    system: System
    out: Path
    minutes: float
    seed: int
    draws: int

    @property
    def words(self) -> list[str]:
        words = ["greymatch", "demo", "--out", str(self.out), "--minutes", f"{self.minutes:g}"]
        return [*words, "--seed", str(self.seed), "--draws", str(self.draws)]

    def fitted(self, data: Trajectories, quiet: bool) -> GreyBox:
        from greymatch.training.fit import fit

        budget = {"training.minutes": self.minutes, "training.steps": None, "training.seed": self.seed}
        run, resume = self.out / "run", started(self.out / "run")
        settings, validation = self.system.settings().updated(budget), self.system.data("val")

        def how(meter: Meter) -> GreyBox:
            physics = self.system.physics
            return fit(physics, data, validation, settings=settings, folder=run, resume=resume, progress=meter)

        try:
            return train(how, quiet, self.words)
        except GreymatchError as error:
            if resume:
                raise GreymatchError(f"{error} Or start over with --fresh.") from None
            raise

    def evaluated(self, model: GreyBox, data: Trajectories) -> Evaluation:
        from greymatch.evaluation import evaluate

        test = self.system.data("test")
        return evaluate(model, test, self.system.given, data, self.system, draws=self.draws, seed=self.seed)

    def save(self, evaluation: Evaluation, data: Trajectories, advice: Advice | None) -> dict[str, str]:
        from greymatch.data.write import write
        from greymatch.report.build import write_report

        about: dict[str, Any] = {"train": data, "system": self.system, "command": shlex.join(self.words)}
        metrics = self.out / "run" / "metrics.jsonl"
        paths = {
            "model": evaluation.model.save(self.out / "model.safetensors"),
            "forecast": write(evaluation.forecast, self.out / "forecast.nc"),
            "test": write(evaluation.test, self.out / "test.nc"),
            "report": write_report(evaluation, self.out / "report.html", metrics=metrics, advice=advice, **about),
            "result": self.out / "result.json",
        }
        return {name: str(path) for name, path in paths.items()}
