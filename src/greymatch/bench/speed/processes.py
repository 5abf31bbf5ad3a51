"""Steps of training in two processes beside those of one, each with a core of its own."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.stepping import ENDLESS, loop_for
from greymatch.bench.speed.timing import Measured, one_thread
from greymatch.errors import GreymatchError
from greymatch.systems import SYSTEMS
from greymatch.training.launch import launch
from greymatch.training.loop import Loop
from greymatch.weather.settings import WeatherSettings

COUNT, GOAL = 2, 1.6
FIELD, TRAJECTORIES, WARM = "reaction_diffusion", 8, 2
PACED = "from greymatch.bench.speed.processes import paced; paced({name!r}, {steps}, {path!r})"


def weather_loop(folder: Path) -> Loop:
    """That of the weather preset; what maps show makes no difference to its speed."""
    from greymatch.bench.speed.maps import random_maps
    from greymatch.training.device import fabric
    from greymatch.training.progress import Silent
    from greymatch.weather.training.train import Problem, loop_of

    settings, maps = WeatherSettings.suited("vgb-dm").updated(ENDLESS), random_maps()
    return loop_of(Problem(maps, maps, settings), folder, Silent(), fabric(settings.training))


def field_loop(folder: Path) -> Loop:
    """That of reaction-diffusion, whose nets are small."""
    system = SYSTEMS[FIELD]
    return loop_for(system.physics, system.data("train", trajectories=TRAJECTORIES), system.settings(), folder)


@dataclass(frozen=True)
class Case:
    """A preset: its loop, the windows in a batch, and how much faster two processes should be."""

    loop: Callable[[Path], Loop]
    batch: int
    goal: float | None = None


CASES = {
    "weather": Case(weather_loop, WeatherSettings.suited("vgb-dm").training.batch, GOAL),
    FIELD: Case(field_loop, SYSTEMS[FIELD].settings().training.batch),
}


def processes(sizes: Sizes, names: Sequence[str] = tuple(CASES)) -> Iterator[Measured]:
    """By the clock on the wall: what processes wait for each other counts."""
    note = f"seconds of the wall, on {os.cpu_count()} cores that nothing else may use; one thread for each process"
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            turns = [{n: _seconds(name, n, sizes.steps, Path(folder)) for n in (COUNT, 1)} for _ in range(sizes.turns)]
        ours, plain = ([turn[count] for turn in turns] for count in (COUNT, 1))
        told, amount, goal = f"{name}, {COUNT} processes", sizes.steps * CASES[name].batch, CASES[name].goal
        yield Measured("processes", told, "windows / s", amount, ours, plain, "one process", goal, note=note)


def _seconds(name: str, count: int, steps: int, folder: Path) -> float:
    """Of so many steps that `count` processes take together."""
    path = folder / f"{count}.json"
    ended = launch(["-c", PACED.format(name=name, steps=steps, path=str(path))], count, folder)
    if ended.fallen is not None:
        raise GreymatchError(ended.text())
    return json.loads(path.read_text())


def paced(name: str, steps: int, path: str) -> None:
    """What one of the processes does; the first tells how long it took."""
    with one_thread():
        loop = CASES[name].loop(Path(path).parent)
        for _ in range(WARM):
            loop.step()
        began = time.monotonic()
        for _ in range(steps):
            loop.step()
        took = time.monotonic() - began
    if loop.ranks.first:
        Path(path).write_text(json.dumps(took))
