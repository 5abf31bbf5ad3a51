"""What training costs: pairs per second beside a plain loop, and the peak of memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from greymatch.children import most_memory
from greymatch.files import write_json
from greymatch.weather.archive import Archive
from greymatch.weather.bench.steppers import STEPPERS
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.training.reuse import memory_reused

STEPS = 10
FULL_SIZE = {"net.width": 80, "net.source_width": 64, "training.batch": 32}  # as many weights as the paper's, or more
PARTS = 4  # of a batch
PLAIN = {"training.precision": "32-true", "training.channels_last": False}


def costs(folder: Path, data: Path, settings: WeatherSettings) -> dict[str, Any]:
    """Speed of training, as asked for and at full size, and peak of memory; measured once and kept in `folder`."""
    kept = folder / "runs" / "cost.json"
    if not kept.exists():
        full = settings.updated({**FULL_SIZE, "training.batch": settings.training.batch})
        found = {"speed": speed(data, settings, STEPS), "full_size": speed(data, full, STEPS)}
        memory = peak_memory(data) | {"in_parts": peak_memory(data, PARTS)}
        write_json(kept, found | {"memory": memory})
    return json.loads(kept.read_text())


def speed(data: Path, settings: WeatherSettings, steps: int) -> dict[str, float]:
    """Pairs per second as trained and in a plain float32 loop with channels first; steps of both in turn.

    A pair is a point on the way between two states and the velocity there, of a window of its own. What is done `once`
    before the first step is told in seconds of the processor for a year of data.
    """
    loops = {"ours": Loop("ours", data, settings), "plain": Loop("plain", data, settings.updated(PLAIN))}
    times: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(steps + 1):
        for name, loop in loops.items():
            seconds = loop.step()
            if turn:  # the first one warms up
                times[name].append(seconds)
    once = {name: loop.finish() for name, loop in loops.items()}
    # the least is the time of the work itself, without what other processes cost
    rates = {name: settings.training.batch / min(found) for name, found in times.items()}
    return {**rates, "ratio": rates["ours"] / rates["plain"], "once": once["ours"], "batch": settings.training.batch}


class Loop:
    """Steps of a process of its own, as many as are asked for: how one keeps memory is nothing to the other."""

    def __init__(self, kind: str, data: Path, settings: WeatherSettings) -> None:
        words = [*_alone("steps", str(data)), kind, settings.model_dump_json()]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_one_core()
        )
        self._once = self._read()

    def step(self) -> float:
        assert self._process.stdin is not None
        print("step", file=self._process.stdin, flush=True)
        return self._read()

    def finish(self) -> float:
        """Seconds that its beginning took."""
        self._process.communicate()
        return self._once

    def _read(self) -> float:
        assert self._process.stdout is not None
        return float(self._process.stdout.readline())


def peak_memory(data: Path, parts: int = 1) -> dict[str, Any]:
    """In a process of its own: GB at the most in two steps of the full-size network at batch 32, in so many parts."""
    words = _alone("memory", str(data), str(parts))
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=_one_core())
    return json.loads(done.stdout)


def first_year(archive: Archive) -> Archive:
    """Its first year alone: memory for data is not what is measured."""
    first = int(archive.times[0].astype("datetime64[Y]").astype(int)) + 1970
    return archive.years(first, first)


def _alone(task: str, *told: str) -> list[str]:
    return [sys.executable, "-m", "greymatch.weather.bench.cost", task, *told]


def _one_core() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def _memory(data: str, parts: str) -> None:
    from greymatch.weather.read import read

    settings = WeatherSettings.suited("vgb-dm").updated({**FULL_SIZE, "training.parts": parts})
    loop = STEPPERS["ours"](first_year(read(data)), settings)
    for _ in range(2):
        loop.step()
    peak, weights = most_memory() / 2**20, sum(p.numel() for p in loop.network.parameters())
    print(json.dumps({"gigabytes": peak, "batch": 32, "parts": int(parts), "parameters": weights}))


def _steps(data: str, kind: str, settings: str) -> None:
    from greymatch.weather.read import read

    loop = STEPPERS[kind](first_year(read(data)), WeatherSettings.model_validate_json(settings))
    print(loop.once, flush=True)
    for _ in sys.stdin:
        print(loop.step(), flush=True)


if __name__ == "__main__":
    task, *told = sys.argv[1:]
    if task == "memory" or told[1] == "ours":
        with memory_reused():
            (_memory if task == "memory" else _steps)(*told)
    else:
        _steps(*told)
