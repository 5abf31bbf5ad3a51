"""Steps of training in two processes beside those of one, each with a core of its own."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.stepping import loop_for
from greymatch.bench.speed.timing import Measured, one_thread
from greymatch.errors import GreymatchError
from greymatch.systems import SYSTEMS
from greymatch.training.launch import launch

SYSTEM, COUNT, GOAL = "reaction_diffusion", 2, 1.6
TRAJECTORIES, WARM = 20, 2
PACED = "from greymatch.bench.speed.processes import paced; paced({steps}, {path!r})"


def processes(sizes: Sizes) -> Iterator[Measured]:
    """By the clock on the wall: what processes wait for each other counts."""
    with tempfile.TemporaryDirectory() as folder:
        turns = [{n: _seconds(n, sizes.steps, Path(folder)) for n in (COUNT, 1)} for _ in range(sizes.turns)]
    ours, plain = ([turn[count] for turn in turns] for count in (COUNT, 1))
    note = f"seconds of the wall, on {os.cpu_count()} cores that nothing else may use; one thread for each process"
    case, amount = f"{SYSTEM}, {COUNT} processes", sizes.steps * SYSTEMS[SYSTEM].settings().training.batch
    yield Measured("processes", case, "windows / s", amount, ours, plain, "one process", GOAL, note=note)


def _seconds(count: int, steps: int, folder: Path) -> float:
    """Of so many steps that `count` processes take together."""
    path = folder / f"{count}.json"
    ended = launch(["-c", PACED.format(steps=steps, path=str(path))], count, folder)
    if ended.fallen is not None:
        raise GreymatchError(ended.text())
    return json.loads(path.read_text())


def paced(steps: int, path: str) -> None:
    """What one of the processes does; the first tells how long it took."""
    system = SYSTEMS[SYSTEM]
    with one_thread():
        data = system.data("train", trajectories=TRAJECTORIES)
        loop = loop_for(system.physics, data, system.settings(), Path(path).parent)
        for _ in range(WARM):
            loop.step()
        began = time.monotonic()
        for _ in range(steps):
            loop.step()
        took = time.monotonic() - began
    if loop.ranks.first:
        Path(path).write_text(json.dumps(took))
