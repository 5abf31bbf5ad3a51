"""Peak memory of a fit to a lazily read store, and to stores of ten times its length: it should not grow.

python measurements/memory.py                 # results/measurements/memory.json and .md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

RESULTS = Path(__file__).parents[1] / "results" / "measurements"
STEP, CHUNK, PART, SHELF = 0.1, (256, 512), 16 * 256, 64


def written(path: Path, trajectories: int, points: int) -> Path:
    """Damped springs in a Zarr store, written some chunks of trajectories at a time."""
    rng, times = np.random.default_rng(0), STEP * np.arange(points)
    for first in range(0, trajectories, PART):
        count = min(PART, trajectories - first)
        beat, loss = rng.uniform(1, 2, (count, 1)), rng.uniform(0.0005, 0.001, (count, 1))
        values = np.exp(-loss * times) * np.cos(beat * times)
        part = xr.Dataset({"x": (("trajectory", "time"), values)}, {"time": times})
        chunks: Any = {"encoding": {"x": {"chunks": CHUNK}}} if not first else {"append_dim": "trajectory"}
        part.to_zarr(path, zarr_format=2, **chunks)
    return path


def fitted(path: Path, lazy: bool, steps: int, net_alone: bool, shelf: int = SHELF) -> int:
    """Fit, and give this process's largest memory in kilobytes."""
    import greymatch as gm
    from greymatch.children import most_memory

    physics = gm.Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": gm.Uniform(0.5, 5)}, order=2)
    small = {"encoder.width": 32, "residual.width": 32, "training.batch": 64, "training.validations": 1}
    small |= {"residual.products": 0, "residual.curves": (), "encoder.refine": False} if net_alone else {}
    settings = gm.Settings(window=26).updated({"data.shelf": shelf, "data.noise": 0.0, **small})
    gm.fit(physics, gm.read(path, lazy=lazy), settings=settings, steps=steps, quiet=True)
    return most_memory()


def measured(path: Path, lazy: bool, steps: int, net_alone: bool = False, shelf: int = SHELF) -> float:
    """The same in a process of its own, in megabytes."""
    words = [sys.executable, __file__, "--fit", str(path), "--steps", str(steps), "--shelf", str(shelf)]
    words += ["--lazy"] * lazy + ["--net-alone"] * net_alone
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout) / 1024


def compared(
    cases: dict[str, tuple[int, int]], steps: int, net_alone: bool = False, shelf: int = SHELF
) -> list[dict[str, Any]]:
    """A row for each store; `net_alone` leaves out the search for a law to begin with, and windows' own answers, which
    take long, and so does calibration on a `shelf` of many trajectories."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (trajectories, points) in cases.items():
            store = written(Path(folder) / f"{trajectories}x{points}.zarr", trajectories, points)
            row = {"store": name, "trajectories": trajectories, "points": points}
            row["store_mb"] = trajectories * points * 8 / 2**20
            row["lazy_mb"] = measured(store, True, steps, net_alone, shelf)
            rows.append(row)
            print(row, flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    heads = ["store", "trajectories", "points", "values [MB]", "peak memory of the fit [MB]"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        cells = (row["store"], row["trajectories"], row["points"], f"{row['store_mb']:.0f}", f"{row['lazy_mb']:.0f}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


CASES = {
    "as it is": (2560, 512),
    "ten times the trajectories": (25600, 512),
    "long recordings": (256, 5120),
    "ten times as many long ones": (2560, 5120),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--shelf", type=int, default=SHELF, help=argparse.SUPPRESS)
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--lazy", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--net-alone", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        print(fitted(asked.fit, asked.lazy, asked.steps, asked.net_alone, asked.shelf))
        raise SystemExit
    found = compared(CASES, asked.steps)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "memory.json").write_text(json.dumps({"steps": asked.steps, "rows": found}, indent=1) + "\n")
    (RESULTS / "memory.md").write_text(table(found))
