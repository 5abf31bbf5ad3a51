"""`fit`: from physics and trajectories to a model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from greymatch.data.noise import told_noise
from greymatch.data.scaling import Scales
from greymatch.data.store import Store, sampled
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.files import read_tensors
from greymatch.matching.observed import interpolated
from greymatch.matching.path import AnyPath
from greymatch.methods import method_named
from greymatch.models.file import load
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.models.share import kept_share
from greymatch.models.unusual import seen_range
from greymatch.models.warm import Warm
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.ahead import ReadAhead
from greymatch.training.beginning import HELD, Beginning, Build, begun
from greymatch.training.calibration import calibrate_forecasts, calibrate_misfit, judge_of_ensembles
from greymatch.training.certainty import calibrate_parameters
from greymatch.training.checks import check_data, check_function, check_same_grid
from greymatch.training.device import fabric, ranks
from greymatch.training.loop import CLOCKS, LAST, Loop
from greymatch.training.progress import Meter, Silent, meter
from greymatch.training.recipe import Recipe, recipe
from greymatch.training.reporting import Reporter
from greymatch.training.run import MODEL, digest, fingerprint, of_the_run, run_folder
from greymatch.training.session import Session
from greymatch.training.stock import Shelves, Stock, stocked
from greymatch.training.suited import DEFAULT_MINUTES, Suited, choose, suited
from greymatch.training.tracker import Tracker
from greymatch.training.validation import Validator

ODE_THREADS = 1  # small nets: a second thread costs more in waiting than it saves in work


def fit(
    physics: Physics,
    data: Trajectories | Store,
    validation: Trajectories | Store | None = None,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    seed: int | None = None,
    method: str | None = None,
    settings: Settings | None = None,
    start: GreyBox | str | Path | None = None,
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

    Without `validation`, a tenth of the trajectories is held out, and up to a quarter to have ten. The budget is
    `steps`, `minutes`, or both (whichever ends first). The weights that forecast the validation trajectories best are
    kept. Without `settings`, they are chosen from the data and shown. `start` is a model, or its file, whose weights
    are reused where shapes allow. `folder` holds checkpoints and metrics (a temporary one by default). Of a `Store`, a
    part is in memory at a time, and other parts follow (`data.shelf`).
    """
    sample = sampled(data, settings and settings.data.shelf)
    check_data(physics, sample, "data")
    if validation is not None:
        check_data(physics, sampled(validation), "validation")
    warm = None if start is None else Warm.of(start)
    found = Suited(settings, []) if settings else choose(physics, sample, warm)
    settings = _settings(found.settings, minutes, steps, seed, method)
    machine = fabric(settings.training)
    together = ranks(machine)
    stock = stocked(data, validation, settings)
    check_data(physics, stock.held_out, "validation")
    check_same_grid(stock.train, stock.held_out)
    shown = (progress or meter(quiet)) if together.first else Silent()
    shown.say(told_noise(stock.noise, settings.data.noise))
    where, resume = together.told(lambda: (run_folder(folder), resume))
    try:
        for choice in found.choices:
            if settings.updated({choice.key: choice.value}) == settings:  # no argument overruled it
                shown.say(str(choice))
        with threads(ODE_THREADS if not sample.grid else None):
            model = _fit(Problem(physics, stock, settings, warm), where, resume, list(trackers), shown, machine)
    finally:
        shown.close()
    if folder is None and together.first:  # only a run that was stopped is worth keeping where nobody asked for it
        shutil.rmtree(where, ignore_errors=True)
    return model


@dataclass(frozen=True)
class Problem:
    """What is fitted to what, and how."""

    physics: Physics
    stock: Stock
    settings: Settings
    start: Warm | None = None

    @property
    def train(self) -> Trajectories:
        return self.stock.train

    @property
    def held_out(self) -> Trajectories:
        return self.stock.held_out

    def plan(self) -> dict[str, Any]:
        """What a run must share with another to be the same run."""
        return {
            "settings": of_the_run(self.settings),
            "physics": self.physics.describe(),
            "data": fingerprint(self.train),
            "validation": fingerprint(self.held_out),
            "start": None if self.start is None else digest(self.start.weights),
        }


def _fit(problem: Problem, folder: Path, resume: bool, trackers: list[Tracker], shown: Meter, machine: Any) -> GreyBox:
    known = method_named(problem.settings.method).known(problem.physics)
    path = interpolated(problem.train, problem.settings, known.order)
    check_function(known, problem.train, path)
    session = Session(
        plan=problem.plan(),
        loop=lambda: _loop(problem, path, folder, resume, trackers, shown, machine),
        finish=lambda loop: _saved(problem, loop),
        load=lambda path: load(path, problem.physics),
    )
    return session.run(folder, resume, ranks(machine))


def _saved(problem: Problem, loop: Loop) -> GreyBox:
    if loop.all_known:
        loop.reporter.meter.say("the law that was found before training leaves nothing to learn: it ends early")
    model = _finished(problem, loop)
    for name in model.noisy:
        loop.reporter.meter.say(
            f"the motion of {name!r} is largely unexplained: too little training, noise, or a step too coarse for its "
            "interpolant"
        )
    model.save(loop.folder / MODEL)
    return model


def _finished(problem: Problem, loop: Loop) -> GreyBox:
    """The model with its best weights and calibrated draws."""
    loop.load_best()
    loop.reporter.meter.say("calibrating how wide ensembles and posteriors are ...")
    train, held_out = (part.to(loop.network.noise.device) for part in (problem.train, problem.held_out))
    found = calibrate_forecasts(loop.network, judge_of_ensembles(held_out, problem.settings.window, loop.state.best))
    calibrate_parameters(loop.network, held_out, train)
    calibrate_misfit(loop.network, train, held_out)
    record = _record(loop, problem) | {"validation_coverage": found.coverage}
    record["physics_share"] = kept_share(loop.network, train)
    return GreyBox(problem.physics, loop.network.cpu().float().eval(), record)


def _loop(
    problem: Problem, path: AnyPath, folder: Path, resume: bool, trackers: list[Tracker], shown: Meter, machine: Any
) -> Loop:
    settings, train = problem.settings, problem.train
    began = CLOCKS[settings.training.clock]()
    beginning = (_chosen(problem, path, folder / LAST) if resume else None) or _beginning(problem, path, shown)
    spent = CLOCKS[settings.training.clock]() - began
    network = beginning.network.to(machine.device)
    if settings.training.channels_last:
        network = network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - it is documented
    way = recipe(network, train.to(machine.device), path)
    validator = Validator.of(problem.held_out.to(machine.device), settings.window)
    restock = _restock(network, problem.stock.shelves)
    settles = way.settling is not None and settings.training.settle > 0
    shared = {"known_noise": beginning.noise, "ranks": ranks(machine), "restock": restock}
    shared["held"] = list(network.dynamics.parameters()) if settles and beginning.held else ()
    shared["spent"] = ranks(machine).agreed(spent)
    shared["began"] = beginning.told()
    return Loop(network, way, validator, settings.training, folder, Reporter(shown, trackers), machine, **shared)


def _restock(network: Network, shelves: Shelves | None) -> Callable[[int], Recipe] | None:
    """How to learn from another shelf, by its number; None if there is one alone."""
    if shelves is None:
        return None

    shelf = ReadAhead(shelves.shelf, first=1)

    def way(number: int) -> Recipe:
        data = shelf(number)
        path = interpolated(data, network.settings, network.physics.order)
        return recipe(network, data.to(network.noise.device), path)

    return way


def _builder(problem: Problem, path: AnyPath) -> Build:
    """Makes networks that have yet to learn, with changes of settings."""
    start, settings, scales = problem.start, problem.settings, Scales.of(problem.train, path)
    if start is not None:
        scales = start.scales_for(problem.physics, scales)
    window = Windows.of(problem.train, settings.window).gather(torch.zeros(1, dtype=torch.long))

    def build(changes: dict[str, Any]) -> Network:
        chosen = settings.updated(changes)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.training.seed)
            network = Network.fitting(problem.physics, chosen, scales, window)
        network.observed.copy_(torch.tensor(problem.train.noise or 0.0))
        return network

    return build


def _beginning(problem: Problem, path: AnyPath, shown: Meter) -> Beginning:
    """The network as it begins, by a regression or as another model."""
    build, start = _builder(problem, path), problem.start
    if start is None:
        return begun(build, problem.train, problem.held_out)
    network = build({})
    reuse = start.into(network)
    shown.say(str(reuse))
    if not reuse.whole:
        return Beginning(network)
    network.blind.copy_(start.weights["blind"])
    return Beginning(network, start.noise)


def _chosen(problem: Problem, path: AnyPath, last: Path) -> Beginning | None:
    """As a run that was stopped began, whose weights are in its checkpoint; None if that does not say."""
    told = read_tensors(last)[1].get("began") if last.exists() else None
    if not told:
        return None
    changes = {key: value for key, value in told.items() if key != HELD}
    return Beginning(_builder(problem, path)(changes), held=told[HELD])


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
        "noise": loop.network.noise.tolist() if loop.all_known else [float(one) ** 0.5 for one in state.noise.value],
        "observation_noise": dict(zip(problem.train.states, problem.train.noise, strict=False)),
    }


__all__ = ["LAST", "fit", "suited"]
