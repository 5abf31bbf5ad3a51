"""`greymatch weather train`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from greymatch.cli.assignments import chosen, with_budget
from greymatch.cli.launched import first_process
from greymatch.cli.options import Changes, Json, Minutes, Quiet
from greymatch.cli.output import Output
from greymatch.cli.weather.options import Archived

EXAMPLE = "Example: greymatch weather train --data atmosphere --out runs/weather --minutes 60"


class Method(StrEnum):
    """What carries the fields."""

    VGB_DM = "vgb-dm"
    BLACK_BOX = "black-box"
    CLIMODE = "climode"


def command(
    data: Archived,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the run.")],
    minutes: Minutes = None,
    steps: Annotated[int | None, typer.Option(help="Budget in steps.")] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            help="vgb-dm: fields carried by learned winds; black-box: the same nets without; climode: winds that have "
            "a law of their own, with a solver in training."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the training.")] = None,
    changes: Changes = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn the weather from the training years of an archive; a run that was stopped goes on with --resume.

    Years: 2006-2015 to learn from, 2016 to choose the weights by, as many of them as there are.
    """
    from greymatch.training.run import MODEL
    from greymatch.weather.read import read
    from greymatch.weather.settings import WeatherSettings
    from greymatch.weather.training.train import train

    told = None if method is None else str(method)
    options = {"training__minutes": minutes, "training__steps": steps, "training__seed": seed, "method": told}
    asked = with_budget(chosen(changes or [], **options))
    settings = WeatherSettings.suited(asked.get("method", "vgb-dm")).updated(asked)
    model = train(read(data), settings=settings, folder=out, resume=resume, quiet=quiet)
    record, output = model.record, Output(quiet or not first_process(), as_json and first_process())
    output.show(
        f"{record['steps']} steps in {record['seconds']:.0f} s; best at step {record['best_step']}: validation error "
        f"{record['validation_error']:.3g} of the usual change in a step\nmodel: {out / MODEL}"
    )
    output.finish({"model": str(out / MODEL), **record, "settings": model.network.settings.model_dump()})
