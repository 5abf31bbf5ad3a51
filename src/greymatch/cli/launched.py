"""A fit in several processes: started by torchrun or Slurm, or by the command itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from greymatch.children import end_with_parent
from greymatch.cli.guard import WRONG_INPUT
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.models.greybox import GreyBox
    from greymatch.physics.physics import Physics
    from greymatch.settings import Settings, TrainingSettings


def first_process() -> bool:
    """Whether this is the process that speaks and writes; known before anything heavy is loaded."""
    return int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", 0))) == 0


def to_be_launched(settings: Settings) -> bool:
    """Whether several processes are asked for on this machine, and nobody has started them yet."""
    from greymatch.training.device import Launched

    end_with_parent()
    training = settings.training
    return training.devices > 1 and training.nodes == 1 and Launched.here().count == 1


def launched(physics: Physics, training: TrainingSettings, where: Path, quiet: bool) -> GreyBox:
    """The model that several processes fit, each told to go on with the run in `where`."""
    from greymatch.models.file import load
    from greymatch.training.launch import launch
    from greymatch.training.run import MODEL

    words = ["-m", "greymatch.cli", "fit", "--resume", str(where), "--devices", str(training.devices)]
    words += ["--strategy", training.strategy, "--set", f"training.parts={training.parts}"]
    words += ["--quiet"] if quiet else []
    ended = launch(words, training.devices, where)
    if ended.fallen is None:
        return load(where / MODEL, physics)
    if ended.codes[0] == WRONG_INPUT and ended.fallen == 0:  # the first process has said why
        raise typer.Exit(WRONG_INPUT)
    raise GreymatchError(f"{ended.text()}\nThe last checkpoint is kept. Go on with: greymatch fit --resume {where}")
