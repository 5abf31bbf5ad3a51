"""`train`: from an archive to a weather model."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from greymatch.training.device import fabric, ranks
from greymatch.training.loop import CLOCKS, Loop
from greymatch.training.progress import Meter, Silent, meter
from greymatch.training.reporting import Reporter
from greymatch.training.run import MODEL, of_the_run, run_folder
from greymatch.training.session import Session
from greymatch.weather.archive import Archive
from greymatch.weather.model.model import WeatherModel, load
from greymatch.weather.model.network import Shape, WeatherNetwork
from greymatch.weather.settings import Method, WeatherSettings
from greymatch.weather.splits import Splits
from greymatch.weather.training.recalling import recalling
from greymatch.weather.training.reuse import memory_reused
from greymatch.weather.training.sampler import Sampler
from greymatch.weather.training.setting_out import set_out
from greymatch.weather.training.validation import Validator
from greymatch.weather.training.ways import WAYS

DEFAULT_MINUTES = 60.0


def train(
    archive: Archive,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    method: Method | None = None,
    seed: int | None = None,
    settings: WeatherSettings | None = None,
    splits: Splits | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Meter | None = None,
    quiet: bool = False,
) -> WeatherModel:
    """Learn the weather of the training years; weights are chosen by forecasts of the validation years.

    ```python
    model = train(gm.weather.read("atmosphere"), minutes=60)
    model = train(archive, steps=2000, method="black-box", folder="runs/black-box")   # resume=True goes on with it
    ```

    The budget is `steps`, `minutes` or both, whichever ends first. `folder` holds checkpoints and metrics.
    """
    chosen = _settings(settings or WeatherSettings.suited(method or "vgb-dm"), minutes, steps, method, seed)
    machine = fabric(chosen.training)
    together, splits = ranks(machine), splits or Splits()
    shown = (progress or meter(quiet)) if together.first else Silent()
    where, resume = together.told(lambda: (run_folder(folder), resume))
    parts = {name: archive.years(*getattr(splits, name)) for name in ("train", "val")}
    try:
        model = _trained(Problem(parts["train"], parts["val"], chosen), where, resume, shown, machine)
    finally:
        shown.close()
    if folder is None and together.first:
        shutil.rmtree(where, ignore_errors=True)
    return model


@dataclass(frozen=True)
class Problem:
    """What is learned from, what it is judged on, and how."""

    train: Archive
    val: Archive
    settings: WeatherSettings

    def plan(self) -> dict[str, Any]:
        """What a run must share with another to be the same run."""
        return {
            "settings": of_the_run(self.settings),
            "data": fingerprint(self.train),
            "validation": fingerprint(self.val),
        }


def fingerprint(archive: Archive) -> str:
    """A digest of the dates and of a few maps, since all of them may be more than memory holds."""
    digest = hashlib.sha256(str(Shape.of(archive)).encode())
    digest.update(archive.times.astype("datetime64[s]").tobytes())
    ends = [0, len(archive) // 2, len(archive) - 1]
    digest.update(archive.at(ends, 1).values.numpy().tobytes())
    return digest.hexdigest()[:16]


def _trained(problem: Problem, folder: Path, resume: bool, shown: Meter, machine: Any) -> WeatherModel:
    session = Session(problem.plan(), lambda: loop_of(problem, folder, shown, machine), _saved, load)
    with memory_reused():
        return session.run(folder, resume, ranks(machine))


def _saved(loop: Loop) -> WeatherModel:
    loop.load_best()
    model = WeatherModel(loop.network.cpu().eval(), _record(loop))
    model.save(loop.folder / MODEL)
    return model


def loop_of(problem: Problem, folder: Path, shown: Meter, machine: Any) -> Loop:
    """The loop of a run, ready for its first step."""
    training = problem.settings.training
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        network = WeatherNetwork.fitting(problem.settings, problem.train)
    network = network.to(machine.device)
    if training.channels_last:
        network = network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - it is documented
    way, validator = WAYS[problem.settings.method](network, problem.train), Validator.of(problem.val, network)
    clock = CLOCKS[training.clock]
    began = clock()
    if isinstance(way.sampler, Sampler) and problem.settings.method == "vgb-dm":
        set_out(network, way.sampler)
        way = way._replace(sampler=recalling(way.sampler, training))
    reporter = Reporter(shown, [])
    return Loop(
        network, way, validator, training, folder, reporter, machine, ranks=ranks(machine), spent=clock() - began
    )


def _settings(
    settings: WeatherSettings, minutes: float | None, steps: int | None, method: Method | None, seed: int | None
) -> WeatherSettings:
    """The settings with the arguments of `train` put in."""
    changes: dict[str, Any] = {}
    if minutes is not None or steps is not None:
        changes = {"training.minutes": minutes, "training.steps": steps}
    elif settings.training.minutes is None and settings.training.steps is None:
        changes = {"training.minutes": DEFAULT_MINUTES}
    given = {"method": method, "training.seed": seed}
    return settings.updated(changes | {key: value for key, value in given.items() if value is not None})


def _record(loop: Loop) -> dict[str, Any]:
    state = loop.state
    return {
        "steps": state.step,
        "seconds": round(state.elapsed, 3),
        "best_step": state.best_step,
        "validation_error": state.best,
        "parameters": sum(p.numel() for p in loop.network.parameters()),
    }
