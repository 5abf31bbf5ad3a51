"""`greymatch fit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.assignments import chosen, config, with_budget
from greymatch.cli.files import folder
from greymatch.cli.launched import first_process, launched, to_be_launched
from greymatch.cli.options import Changes, Config, Json, Minutes, Quiet
from greymatch.cli.output import Output
from greymatch.cli.running import Command, forget, started, train
from greymatch.cli.source import Problem, Source
from greymatch.cli.spread import spread
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.models.greybox import GreyBox
    from greymatch.training.progress import Meter

EXAMPLE = (
    "Examples:\n\n"
    "greymatch fit --system pendulum --minutes 3 --out runs/pendulum\n\n"
    "greymatch fit --physics swing.py:physics --data swings.csv --trajectory id --time t --set residual.width=32\n\n"
    "greymatch fit --physics swing.py:physics --data more.csv --start runs/swing/model.safetensors\n\n"
    "greymatch fit --resume runs/swing\n\n"
    "greymatch fit --system reaction_diffusion --devices 2 --out runs/rd"
)


@spread
def command(
    source: Source,
    run: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="With --resume: the run.", show_default=False)
    ] = None,
    settings: Config = None,
    changes: Changes = None,
    minutes: Minutes = None,
    steps: Annotated[int | None, typer.Option(help="Budget in steps.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the training.")] = None,
    method: Annotated[str | None, typer.Option(help="vgb-dm, gb-dm or vbb-dm.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder of the run; else runs/NAME.")] = None,
    devices: Annotated[int | None, typer.Option(min=1, help="Processes on each machine, which share batches.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Machines, each with torchrun or srun.")] = None,
    strategy: Annotated[str | None, typer.Option(help="How processes train together: ddp or fsdp.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit a model to trajectories: a built-in system's, or your own with your own physics."""
    options = {"training__minutes": minutes, "training__steps": steps, "training__seed": seed, "method": method}
    machines = {"training__devices": devices, "training__nodes": nodes, "training__strategy": strategy}
    asked = chosen(changes or [], **options, **machines)
    output = Output(quiet or not first_process(), as_json and first_process())
    if resume:
        where, model = _resumed(_where(run, out), source, config(settings) | asked, output.quiet)
    elif run is not None:
        raise GreymatchError(f"FOLDER is for --resume; got {str(run)!r}. Name the folder of a new run with --out.")
    else:
        where = out or Path("runs") / source.name
        model = _new(where, source, config(settings), asked, output)
    _tell(output, model, where)


def _where(run: Path | None, out: Path | None) -> Path:
    found = {str(path): path for path in (run, out) if path is not None}
    if len(found) != 1:
        raise GreymatchError(f"`--resume` needs the folder of one run, such as --resume runs/swing; got {list(found)}.")
    return next(iter(found.values()))


def _new(where: Path, source: Source, base: dict[str, Any], asked: dict[str, Any], output: Output) -> GreyBox:
    from greymatch.methods import method_named
    from greymatch.settings_tree import flat

    source.check()
    if first_process() and started(where):
        raise GreymatchError(
            f"`--out` {str(where)!r} holds a run already. Go on with it, greymatch fit --resume {where}, "
            "or choose another folder."
        )
    problem = source.open()
    told = Command(source, problem.settings.updated(base).updated(with_budget(asked)))
    method_named(told.settings.method)
    if first_process():
        told.begin(folder(where))
    for choice in problem.chosen({**flat(base), **with_budget(asked)}):
        output.note(f"chosen: {choice}")
    try:
        return _fitted(problem, told, where, output.quiet)
    except GreymatchError:
        if first_process() and not started(where):
            forget(where)
        raise


def _resumed(where: Path, source: Source, asked: dict[str, Any], quiet: bool) -> tuple[Path, GreyBox]:
    told = Command.read(where)
    told.check_same(source, asked)
    return where, _fitted(told.source.open(), told.on_other_machines(asked), where, quiet)


def _fitted(problem: Problem, told: Command, where: Path, quiet: bool) -> GreyBox:
    from greymatch.training.fit import fit

    def here(progress: Meter) -> GreyBox:
        return fit(
            problem.physics,
            problem.data,
            problem.validation,
            settings=told.settings,
            start=told.source.start,
            folder=where,
            resume=started(where),
            progress=progress,
        )

    def elsewhere(progress: Meter) -> GreyBox:
        return launched(problem.physics, told.settings.training, where, quiet)

    how = elsewhere if to_be_launched(told.settings) else here
    return train(how, quiet, ["greymatch", "fit", "--resume", str(where)])


def _tell(output: Output, model: GreyBox, where: Path) -> None:
    from greymatch.data.noise import told_noise

    record, path = model.record, where / "model.safetensors"
    output.show(
        told_noise(record.get("observation_noise", {}), model.settings.data.noise),
        f"{record['steps']} steps in {record['seconds']:.0f} s; best at step {record['best_step']}: validation error "
        f"{record['validation_error']:.3g} of the data's variance (geometric mean over trajectories)\nmodel: {path}",
    )
    output.finish({"model": str(path), "folder": str(where), **record, "settings": model.settings.model_dump()})
