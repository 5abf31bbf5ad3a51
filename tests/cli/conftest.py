"""A small built-in system, a user's own physics and data, and a way to call the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
import typer.testing
from typer.testing import CliRunner

from greymatch.cli import app
from greymatch.data.write import write
from greymatch.settings import Settings
from greymatch.systems import SYSTEMS, Split, System, pendulum

SWING = """\
import torch
import greymatch as gm

def swing(t, x, p):
    return {"angle": -p.omega**2 * torch.sin(x.angle)}

physics = gm.Physics(swing, states=["angle"], params={"omega": gm.Uniform(0.785, 3.14)}, order=2)
number = 3
"""
SMALL = (
    "--set",
    "encoder.width=16",
    "--set",
    "residual.width=16",
    "--set",
    "training.batch=16",
    "--set",
    "training.validations=1",
)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


Greymatch = Callable[..., Done]
Hurry = Callable[[], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def everything_roughly(roughly: None) -> None:
    """What a command says of a model is under test, not the model."""


@pytest.fixture(scope="session")
def greymatch() -> Iterator[Greymatch]:
    """`greymatch("fit", "--system", ...)`: a fault of ours is raised, not hidden behind an exit code."""
    commands = cache(typer.main.get_command)  # to build them all takes longer than most of what they are asked

    def call(*words: object) -> Done:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", commands)
        yield call


@pytest.fixture(scope="session")
def small_pendulum(small_settings: Settings) -> System:
    """The pendulum with few and short trajectories, that a demo can learn in seconds."""
    times = pendulum.splits["test"].times[:40]
    counts = {"train": 16, "val": 4, "test": 5}
    splits = {name: Split(count, times, pendulum.splits[name].seed) for name, count in counts.items()}
    preset = small_settings.updated({"training.steps": 20, "training.validations": 1, "residual.products": 0})
    return replace(pendulum, splits=splits, given=10, preset=preset)


@pytest.fixture
def small_system(small_pendulum: System, monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setitem(SYSTEMS, "pendulum", small_pendulum)
    return small_pendulum


@pytest.fixture(scope="session")
def fitted_by_a_user(
    small_pendulum: System, greymatch: Greymatch, tmp_path_factory: pytest.TempPathFactory, hurry: Hurry
) -> Path:
    """A folder with swing.py, train.csv (other column names), test.nc, and a model fitted to them in run/."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "swing.py").write_text(SWING)
    train = small_pendulum.data("train").to_dataset().to_dataframe().reset_index()
    train.rename(columns={"trajectory": "id", "time": "t"})[["id", "t", "angle"]].to_csv(folder / "train.csv")
    write(small_pendulum.data("test"), folder / "test.nc")
    data = (
        "--physics",
        folder / "swing.py:physics",
        "--data",
        folder / "train.csv",
        "--trajectory",
        "id",
        "--time",
        "t",
    )
    with hurry():
        done = greymatch("fit", *data, "--steps", 20, *SMALL, "--set", "window=10", "--out", folder / "run")
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def user(fitted_by_a_user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, as the current one."""
    folder = shutil.copytree(fitted_by_a_user, tmp_path / "user")
    monkeypatch.chdir(folder)
    return folder
