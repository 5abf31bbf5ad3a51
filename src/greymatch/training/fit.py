"""`fit`: from physics and trajectories to a model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.errors import GreymatchError
from greymatch.matching.observed import interpolated
from greymatch.matching.path import AnyPath
from greymatch.methods import method_named
from greymatch.models.file import load
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.models.unusual import seen_range
from greymatch.physics.check import check_physics
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.calibration import calibrate_forecasts, calibrate_misfit
from greymatch.training.certainty import calibrate_parameters
from greymatch.training.device import fabric, fabric_device
from greymatch.training.loop import LAST, Loop
from greymatch.training.progress import Meter, meter
from greymatch.training.recipe import recipe
from greymatch.training.run import MODEL, Lock, check_plan, fingerprint, run_folder
from greymatch.training.session import run_to_end
from greymatch.training.tracker import Tracker
from greymatch.training.validation import Validator

DEFAULT_MINUTES = 3.0
ODE_THREADS = 1  # small nets: a second thread costs more in waiting than it saves in work
HELD_OUT = 0.1
CHECKED_ROWS = 256


def fit(
    physics: Physics,
    data: Trajectories,
    validation: Trajectories | None = None,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    seed: int | None = None,
    method: str | None = None,
    settings: Settings | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    trackers: Sequence[Tracker] = (),
    progress: Meter | None = None,
    quiet: bool = False,
) -> GreyBox:
    """Learn what `physics` misses, and infer its parameters, from trajectories.

    ```python
    model = fit(physics, train, minutes=3, seed=0)
    model = fit(physics, train, steps=5000, folder="runs/a")       # stopped? the same call with resume=True
    ```

    Without `validation`, a tenth of the trajectories is held out. The budget is `steps`, `minutes`, or both
    (whichever ends first). The weights that forecast the validation trajectories best are kept. `folder` holds
    checkpoints and metrics (a temporary one by default).
    """
    _check_data(physics, data, "data")
    settings = _settings(settings or suited(physics, data), minutes, steps, seed, method)
    fabric_device(settings.training.device)
    train, held_out = parts(data.to("cpu"), validation, settings.training.seed)
    _check_data(physics, held_out, "validation")
    if held_out.values.shape[3:] != train.values.shape[3:]:
        raise GreymatchError(
            f"`validation` must lie on the grid of `data`, {tuple(train.values.shape[3:])}; "
            f"got {tuple(held_out.values.shape[3:])}."
        )
    shown = progress or meter(quiet)
    where = run_folder(folder)
    try:
        with threads(ODE_THREADS if not data.grid else None):
            model = _fit(Problem(physics, train, held_out, settings), where, resume, list(trackers), shown)
    finally:
        shown.close()
    if folder is None:  # only a run that was stopped is worth keeping where nobody asked for it
        shutil.rmtree(where, ignore_errors=True)
    return model


def parts(data: Trajectories, validation: Trajectories | None, seed: int) -> tuple[Trajectories, Trajectories]:
    """Trajectories to learn from and to validate on."""
    if validation is not None:
        return data, validation
    if len(data) < 2:
        raise GreymatchError(
            "one trajectory cannot be both learned from and validated on. Give `validation=`, or cut the recording "
            "into several trajectories."
        )
    return data.split(HELD_OUT, seed)


@dataclass(frozen=True)
class Problem:
    """What is fitted to what, and how."""

    physics: Physics
    train: Trajectories
    held_out: Trajectories
    settings: Settings

    def plan(self) -> dict[str, Any]:
        """What a run must share with another to be the same run."""
        return {
            "settings": self.settings.model_dump(),
            "physics": self.physics.describe(),
            "data": fingerprint(self.train),
            "validation": fingerprint(self.held_out),
        }


def _fit(problem: Problem, folder: Path, resume: bool, trackers: list[Tracker], shown: Meter) -> GreyBox:
    known = method_named(problem.settings.method).known(problem.physics)
    path = interpolated(problem.train, problem.settings, known.order)
    _check_function(known, problem.train, path)
    with Lock(folder):
        check_plan(folder, problem.plan(), resume)
        if resume and (folder / MODEL).exists():
            return load(folder / MODEL, problem.physics)
        loop = _loop(problem, path, folder, trackers, shown)
        run_to_end(loop, resume)
        model = _finished(problem, loop)
        for name in model.noisy:
            shown.say(f"the motion of {name!r} is largely unexplained: noise, or a step too coarse for its interpolant")
        model.save(folder / MODEL)
        return model


def _finished(problem: Problem, loop: Loop) -> GreyBox:
    """The model with its best weights and calibrated draws."""
    loop.load_best()
    assert isinstance(loop.validator, Validator), "made so in _loop"
    found = calibrate_forecasts(loop.network, loop.validator)
    train, held_out = (part.to(loop.network.noise.device) for part in (problem.train, problem.held_out))
    calibrate_parameters(loop.network, held_out)
    calibrate_misfit(loop.network, train, held_out)
    record = _record(loop, problem) | {"validation_coverage": found.coverage}
    return GreyBox(problem.physics, loop.network.cpu().float().eval(), record)


def _loop(problem: Problem, path: AnyPath, folder: Path, trackers: list[Tracker], shown: Meter) -> Loop:
    settings, train = problem.settings, problem.train
    machine = fabric(settings.training)
    scales = Scales.of(train, path)
    windows = Windows.of(train, settings.window)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.training.seed)
        network = Network.fitting(problem.physics, settings, scales, windows.gather(torch.zeros(1, dtype=torch.long)))
    network = network.to(machine.device)
    if settings.training.channels_last:
        network = network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - it is documented
    way = recipe(network, train.to(machine.device), path)
    validator = Validator.of(problem.held_out.to(machine.device), settings.window)
    return Loop(network, way, validator, settings.training, folder, shown, trackers, machine)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Run with `count` threads, or as many as before; put back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, count or before))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _settings(
    settings: Settings, minutes: float | None, steps: int | None, seed: int | None, method: str | None
) -> Settings:
    """The settings with the arguments of `fit` put in."""
    changes: dict[str, Any] = {}
    if minutes is not None or steps is not None:
        changes |= {"training.minutes": minutes, "training.steps": steps}
    elif settings.training.minutes is None and settings.training.steps is None:
        changes["training.minutes"] = DEFAULT_MINUTES
    changes |= {"training.seed": seed} if seed is not None else {}
    changes |= {"method": method} if method is not None else {}
    chosen = settings.updated(changes)
    method_named(chosen.method)
    return chosen


def suited(physics: Physics, data: Trajectories) -> Settings:
    """Settings for this problem: the preset of a built-in system, or ones that suit the shape of the data.

    The window is up to a third of a trajectory, and histories down to a fifth of that are learned too.
    """
    from greymatch.systems import SYSTEMS

    for system in SYSTEMS.values():
        if system.physics == physics:
            return system.settings()
    points = int(data.lengths.median())
    window = min(max(6, points // 3 + 1), max(2, points // 2))
    shortest = min(window, max(5, window // 5))
    fields = {"encoder.kind": "conv", "encoder.width": 32, "residual.kind": "conv", "training.batch": 32}
    return Settings(window=window, shortest=shortest).updated(fields if data.grid else {})


def _check_data(physics: Physics, data: Trajectories, argument: str) -> None:
    if not isinstance(physics, Physics):
        raise GreymatchError(f"`physics` must be a Physics; got {physics!r}. Write Physics(function, states=[...]).")
    if not isinstance(data, Trajectories):
        raise GreymatchError(
            f"`{argument}` must be Trajectories; got {type(data).__name__}. Use read(...) to make them."
        )
    if data.states != physics.states:
        raise GreymatchError(
            f"`{argument}` must hold the physics' states {list(physics.states)} in that order; "
            f"got {list(data.states)}. "
            f"Read them with states={list(physics.states)}."
        )
    if data.grid != physics.grid:
        raise GreymatchError(
            f"`{argument}` must have the physics' grid axes {list(physics.grid)}, in that order; "
            f"got {list(data.grid)}. Rename or transpose them."
        )
    names = data.inputs.names if data.inputs else ()
    if tuple(names) != physics.inputs:
        raise GreymatchError(
            f"physics declares inputs {list(physics.inputs)}; `{argument}` carries {list(names)}. "
            "Read with inputs=[...]."
        )
    if data.inputs is not None:
        observed = data.trimmed()
        data.inputs.check_covers(torch.arange(len(data), device=data.times.device), observed.times, data.labels)


def _check_function(physics: Physics, data: Trajectories, path: AnyPath) -> None:
    """Run the user's function on real rows before anything expensive: first, last and random points of trajectories."""
    rows = torch.arange(len(data))[:CHECKED_ROWS]
    last = (data.lengths[rows] - 1)[:, None]
    anywhere = (torch.rand((len(rows), 2), generator=torch.Generator().manual_seed(0)) * (last + 1)).long()
    times = data.times[rows[:, None], torch.cat([torch.zeros_like(last), last, anywhere], 1)]
    matched = path.at(rows, times)
    moving = torch.cat([matched.position] + [matched.velocity] * (physics.order - 1), 2)
    inputs = data.inputs.at(rows, times).flatten(0, 1).float() if data.inputs else None
    check_physics(physics, times.flatten(), moving.flatten(0, 1).float(), inputs)


def _record(loop: Loop, problem: Problem) -> dict[str, Any]:
    state = loop.state
    return {
        "steps": state.step,
        "seconds": round(state.elapsed, 3),
        "best_step": state.best_step,
        "validation_error": state.best,
        "trajectories": {"train": len(problem.train), "validation": len(problem.held_out)},
        "data": fingerprint(problem.train),
        "seen": seen_range(problem.train, problem.held_out),
        "parameters": sum(p.numel() for p in loop.network.parameters()),
        "widening": float(loop.network.widening),
        "refined": bool(loop.network.refined),
        "kicked": bool(loop.network.kicked),
        "doubt": dict(zip(loop.network.physics.free, loop.network.doubt.tolist(), strict=True)),
        "blind": dict(zip(loop.network.physics.free, loop.network.blind.tolist(), strict=True)),
        "noise": [float(value) ** 0.5 for value in state.noise.value],
    }


__all__ = ["LAST", "fit", "suited"]
