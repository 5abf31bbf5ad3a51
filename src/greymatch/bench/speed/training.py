"""Windows per second of training, beside the plain loop."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from greymatch.bench.speed.reference_training import PlainLoop
from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.stepping import loop_for, network_for, settle
from greymatch.bench.speed.timing import Measured, in_turns, seconds
from greymatch.data.store import Store
from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.systems import SYSTEMS
from greymatch.systems.system import System
from greymatch.training.fit import fit
from greymatch.training.settling import MOST_BATCHES

GOALS = {"lorenz": 6.0, "pendulum": None, "reaction_diffusion": 2.5}
AGAINST = "eager loop, DataLoader of windows"
UNIT = "windows / s"
PARTS_OF_A_FIT = (
    ("first", "encoding", "the same objective, step by step"),
    ("later", "settled", "once trajectories have told their latents, nothing is encoded"),
)
FEW = 4  # to validate on: what is judged at the end of a fit is not what is measured
PLAIN = 0.1  # of a fit's time, for which the plain loop is measured before and after it
FIELDS = 20  # trajectories of them
WIDE = {"residual.kernel": 3}  # so that the residual is a convolution, not a net for each cell
LOW = {"training.precision": "bf16-mixed", "training.channels_last": True}


def training(sizes: Sizes) -> Iterator[Measured]:
    """Steps of both parts of a fit, and a whole short fit, of each system."""
    for name, goal in GOALS.items():
        system = SYSTEMS[name]
        data = system.data("train", trajectories=sizes.trajectories and min(sizes.trajectories, _count(system)))
        plain = PlainLoop(network_for(system.physics, data, system.settings()), data, system.settings())
        yield from _steps(system, data, plain, sizes)
        yield _whole(system, data, plain, sizes, goal)


def _count(system: System) -> int:
    return system.splits["train"].trajectories


def _steps(system: System, data: Trajectories, plain: PlainLoop, sizes: Sizes) -> Iterator[Measured]:
    """The part in which windows are encoded, as the plain loop does all along; and the part after it, whose batches are
    drawn together: as many steps are counted as one draw is for."""
    settings, amount = system.settings(), sizes.steps * system.settings().training.batch
    with tempfile.TemporaryDirectory() as folder:
        first, later = (loop_for(system.physics, data, settings, Path(folder)) for _ in range(2))
        steps = {"first": first.step, "later": settle(later).step, "plain": plain.step}
        counts = {name: MOST_BATCHES if name == "later" else sizes.steps for name in steps}
        found = in_turns({name: _many(step, counts[name]) for name, step in steps.items()}, sizes.turns)
    found["later"] = [sizes.steps / MOST_BATCHES * taken for taken in found["later"]]
    for way, what, note in PARTS_OF_A_FIT:
        case = f"{system.name}, {what}"
        yield Measured("training", case, UNIT, amount, found[way], found["plain"], AGAINST, note=note)


def _many(step: Callable[[], object], count: int) -> Callable[[], None]:
    def steps() -> None:
        for _ in range(count):
            step()

    return steps


def _whole(system: System, data: Trajectories, plain: PlainLoop, sizes: Sizes, goal: float | None) -> Measured:
    """`fit` as users call it, with its validation and settling; both in seconds for a thousand windows."""
    batch, validation = system.settings().training.batch, system.data("val", trajectories=FEW)
    begun = fit(system.physics, data, validation, settings=system.settings(), steps=1, quiet=True)
    ours, theirs = [], []

    def plainly() -> float:
        return 1000 / batch * _seconds_each(plain.step, PLAIN * sizes.fit_seconds)

    for _ in range(sizes.fit_turns):
        before = plainly()
        ours.append(1000 / fitted_rate(begun, data, validation, sizes.fit_seconds))
        theirs.append((before + plainly()) / 2)
    note = (
        f"`fit` of {sizes.fit_seconds:g} s as preset, with validation and settling; what comes before the first step, "
    )
    note += "windows and the regression that a residual begins with, is not counted"
    case = f"{system.name}, whole fit"
    return Measured("training", case, UNIT, 1000, ours, theirs, AGAINST, goal, note=note)


def _seconds_each(step: Callable[[], object], budget: float) -> float:
    """Of steps that take at least the budget together."""
    taken = [seconds(step)]
    while sum(taken) < budget:
        taken.append(seconds(step))
    return sum(taken) / len(taken)


def fitted_rate(begun: GreyBox, data: Trajectories | Store, validation: Trajectories, budget: float) -> float:
    """Windows per second of the processor that a short fit trains on, from a model that has hardly begun."""
    settings = begun.settings.updated(
        {"training.minutes": budget / 60, "training.steps": None, "training.clock": "processor"}
    )
    model = fit(begun.physics, data, validation, settings=settings, start=begun, quiet=True)
    return model.record["steps"] * settings.training.batch / model.record["seconds"]


def convolutions(sizes: Sizes) -> Iterator[Measured]:
    """Convolutions in bfloat16 with channels last, beside float32 with channels first, which is what presets take."""
    system = SYSTEMS["reaction_diffusion"]
    data, settings = system.data("train", trajectories=min(FIELDS, _count(system))), system.settings()
    wide = settings.updated(WIDE)
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "ours": loop_for(system.physics, data, wide.updated(LOW), Path(folder)),
            "plain": loop_for(system.physics, data, wide, Path(folder)),
        }
        steps = max(1, sizes.steps // 10)
        found = in_turns({name: _many(loop.step, steps) for name, loop in ways.items()}, sizes.turns)
    yield Measured(
        "convolutions", "reaction_diffusion, 3 x 3 residual, bfloat16 and channels last", UNIT,
        steps * wide.training.batch, found["ours"], found["plain"], "float32, channels first",
    )  # fmt: skip


def first_step() -> dict[str, float]:
    """Seconds of this process until the first step of its first fit, of that step, and of one after it."""
    system = SYSTEMS["pendulum"]
    settings = system.settings()
    with tempfile.TemporaryDirectory() as folder:
        loop = loop_for(system.physics, system.data("train", trajectories=20), settings, Path(folder))
        until = time.process_time()
        first = seconds(loop.step)
        later = min(seconds(loop.step) for _ in range(10))
    return {"until": until, "first": first, "later": later}
