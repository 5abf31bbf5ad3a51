"""What training costs: pairs per second beside a plain loop, and the peak of memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from greymatch.files import write_json
from greymatch.training.device import fabric
from greymatch.weather.archive import Archive
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.training.ways import WAYS

STEPS = 5
PLAIN = {"training.precision": "32-true", "training.channels_last": False}
FULL_SIZE = {"net.width": 80, "net.source_width": 64, "training.batch": 32}  # as many weights as the paper's, or more


class Stepper:
    """Training steps, one at a time, without the rest of the loop."""

    def __init__(self, train: Archive, settings: WeatherSettings) -> None:
        torch.manual_seed(0)
        self.network = WeatherNetwork.fitting(settings, train)
        if settings.training.channels_last:
            self.network = self.network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        way, machine = WAYS[settings.method](self.network, train), fabric(settings.training)
        optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-4, fused=True)
        self.objective, self.optimizer = machine.setup(way.objective, optimizer)
        self.sampler, self.machine, self.batch = way.sampler, machine, settings.training.batch
        self.noise, self.generator = torch.ones(way.objective.channels), torch.Generator().manual_seed(0)

    def step(self) -> float:
        """Seconds of the processor."""
        began = time.process_time()
        loss = self.objective(self.sampler.draw(self.batch, self.generator), self.noise, self.generator)
        self.optimizer.zero_grad(set_to_none=True)
        self.machine.backward(loss.total)
        self.optimizer.step()
        return time.process_time() - began


def costs(folder: Path, data: Path, train: Archive, settings: WeatherSettings) -> dict[str, Any]:
    """Speed of training and peak of memory, measured once and kept in `folder`."""
    kept = folder / "runs" / "cost.json"
    if not kept.exists():
        first = train.years(*first_year(train))
        write_json(kept, {"speed": speed(first, settings, STEPS), "memory": peak_memory(data)})
    return json.loads(kept.read_text())


def speed(train: Archive, settings: WeatherSettings, steps: int) -> dict[str, float]:
    """Pairs per second as trained and in a plain float32 loop with channels first; steps of both in turn."""
    loops = {"ours": Stepper(train, settings), "plain": Stepper(train, settings.updated(PLAIN))}
    times: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(steps + 1):
        for name, loop in loops.items():
            seconds = loop.step()
            if turn:  # the first one warms up
                times[name].append(seconds)
    # the least is the time of the work itself, without what other processes cost
    rates = {name: settings.training.batch / min(found) for name, found in times.items()}
    return {**rates, "ratio": rates["ours"] / rates["plain"]}


def peak_memory(data: Path) -> dict[str, Any]:
    """In a process of its own: GB at the most in two steps of the full-size network at batch 32."""
    words = [sys.executable, "-m", "greymatch.weather.bench.cost", str(data)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=dict(os.environ))
    return json.loads(done.stdout)


def _measured(data: str) -> dict[str, Any]:
    from greymatch.weather.read import read

    archive = read(data)
    settings = WeatherSettings.suited("vgb-dm").updated(FULL_SIZE)
    loop = Stepper(archive.years(*first_year(archive)), settings)
    for _ in range(2):
        loop.step()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"gigabytes": peak, "batch": 32, "parameters": sum(p.numel() for p in loop.network.parameters())}


def first_year(archive: Archive) -> tuple[int, int]:
    """Its first year alone: memory for data is not what is measured."""
    first = int(archive.times[0].astype("datetime64[Y]").astype(int)) + 1970
    return first, first


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1])))
