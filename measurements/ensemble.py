"""A forecast of 1000 draws for 1000 trajectories that is streamed into a Zarr store: seconds and peak memory of the
whole command, and of one that is killed in the middle and resumed.

python measurements/ensemble.py               # results/measurements/ensemble.json and .md
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import greymatch as gm
from greymatch.bench.run import made_with

RESULTS = Path(__file__).parents[1] / "results" / "measurements"
STEPS, TRAINED_ON, SHARE = 300, 100, 0.5  # of the model, and the part of the blocks after which it is killed


@dataclass(frozen=True)
class Ran:
    """How a command ended, its seconds by the wall and of the processor, and the most memory that it took."""

    case: str
    code: int
    seconds: float
    processor: float
    peak_mb: float


def prepared(folder: Path, trajectories: int, steps: int) -> list[str]:
    """A model of the pendulum and histories beside it; the command that forecasts what follows them."""
    system = gm.systems.pendulum
    train, validation = system.data("train", trajectories=TRAINED_ON), system.data("val", trajectories=20)
    settings = system.settings().updated({"training.validations": 1})
    gm.fit(system.physics, train, validation, settings=settings, steps=steps, quiet=True).save(
        folder / "model.safetensors"
    )
    data = system.data("train", trajectories=trajectories)
    gm.write(data.first(system.given), folder / "history.nc")
    first, last = (float(data.times[0, place]) for place in (system.given, -1))
    step = (last - first) / (data.times.shape[1] - system.given - 1)
    words = ["-m", "greymatch", "forecast", "model.safetensors", "--history", "history.nc", "--quiet"]
    return [*words, "--times", f"{first!r}:{last!r}:{step!r}"]


def ran(case: str, words: list[str], folder: Path, stop_at: int | None = None) -> Ran:
    """The command in a process of its own, killed once it has written so many blocks."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, *words], cwd=folder)
    while stop_at is not None and blocks(folder) < stop_at and not ended(process.pid):
        time.sleep(0.02)
    if stop_at is not None:
        process.send_signal(signal.SIGKILL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    return Ran(case, process.returncode, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def ended(process: int) -> bool:
    """Whether it has; what it used can still be asked for."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def blocks(folder: Path) -> int:
    """How many blocks of a store that is not complete are there."""
    journal = next(folder.glob(".*.zarr.partial/.journal.jsonl"), None)
    return 0 if journal is None else len(journal.read_text().splitlines()) - 1


def same(folder: Path, one: str, other: str) -> bool:
    """Whether two stores hold the same numbers, read some trajectories at a time."""
    import xarray as xr

    first, second = (xr.open_zarr(folder / name, decode_timedelta=False) for name in (one, other))
    return bool((first["angle"] == second["angle"]).all().compute())


def compared(draws: int, trajectories: int, steps: int = STEPS) -> dict[str, Any]:
    """All of it at once; and half of it, then the rest."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        words = [*prepared(folder, trajectories, steps), "--draws", str(draws)]
        whole = ran("at once", [*words, "--out", "whole.zarr"], folder)
        size = sum(path.stat().st_size for path in (folder / "whole.zarr").rglob("*") if path.is_file())
        chunks = len(list((folder / "whole.zarr" / "angle").glob("[0-9]*")))
        halves = [*words, "--out", "halves.zarr"]
        killed = ran("killed in the middle", halves, folder, max(1, int(SHARE * chunks)))
        there = blocks(folder)
        resumed = ran("resumed", [*halves, "--resume"], folder)
        found = {"draws": draws, "trajectories": trajectories, "blocks": chunks, "blocks_when_killed": there}
        found |= {"store_mb": size / 2**20, "same": same(folder, "whole.zarr", "halves.zarr")}
    return found | {"runs": [asdict(one) for one in (whole, killed, resumed)]}


def table(found: dict[str, Any]) -> str:
    heads = ["command", "ended with", "s of the wall", "s of the processor", "peak memory [MB]"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for run in found["runs"]:
        numbers = [f"{run[key]:.0f}" for key in ("seconds", "processor", "peak_mb")]
        lines.append(f"| {run['case']} | {run['code']} | {' | '.join(numbers)} |")
    told = f"{found['draws']} draws x {found['trajectories']} trajectories in {found['blocks']} blocks"
    stopped = f"killed with {found['blocks_when_killed']} of them written"
    equal = "the same numbers" if found["same"] else "other numbers"
    return "\n".join(lines) + f"\n\n{told}, {found['store_mb']:.0f} MB on disk; {stopped}, and resumed to {equal}.\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--trajectories", type=int, default=1000)
    asked = parser.parse_args()
    measured = compared(asked.draws, asked.trajectories)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "ensemble.json").write_text(json.dumps({**made_with(), **measured}, indent=1) + "\n")
    (RESULTS / "ensemble.md").write_text(table(measured))
    print(table(measured))
