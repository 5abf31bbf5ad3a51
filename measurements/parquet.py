"""How long `gm.read` takes for ten million rows of Parquet, beside pandas reading the same file.

Both are timed in one process, in turns, so that what else the machine does hits both alike.

    python measurements/parquet.py                # results/measurements/parquet.json and .md
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import greymatch as gm

RESULTS = Path(__file__).parents[1] / "results" / "measurements"
LENGTH = 1000


def written(path: Path, rows: int) -> Path:
    """Recordings of a thousand points of two states, as a long table."""
    rng, recordings = np.random.default_rng(0), rows // LENGTH
    clock = np.tile(0.1 * np.arange(LENGTH), recordings)
    columns = {"id": np.repeat(np.arange(recordings), LENGTH), "t": clock}
    pd.DataFrame(columns | {name: rng.normal(size=rows) for name in ("angle", "speed")}).to_parquet(path)
    return path


def seconds(read: Callable[[], Any]) -> float:
    began = time.perf_counter()
    kept = read()
    taken = time.perf_counter() - began
    del kept
    return taken


def measured(path: Path, turns: int) -> dict[str, list[float]]:
    """Seconds of each reader in each turn; the first turn, which warms the disk's cache, is left out."""
    readers = {
        "greymatch": lambda: gm.read(path, trajectory="id", time="t"),
        "pandas": lambda: pd.read_parquet(path),
    }
    turns_of = [{name: seconds(read) for name, read in readers.items()} for _ in range(turns + 1)][1:]
    return {name: [turn[name] for turn in turns_of] for name in readers}


def summary(rows: int, found: dict[str, list[float]]) -> dict[str, Any]:
    best = {name: min(times) for name, times in found.items()}
    middle = {name: float(np.median(times)) for name, times in found.items()}
    ratio = {"best": best["greymatch"] / best["pandas"], "median": middle["greymatch"] / middle["pandas"]}
    return {"rows": rows, "seconds": found, "best": best, "median": middle, "ratio": ratio}


def table(result: dict[str, Any]) -> str:
    lines = [f"| {result['rows']:.0e} rows | greymatch [s] | pandas [s] | ratio |", "|---|---|---|---|"]
    for kind in ("best", "median"):
        ours, theirs = (result[kind][name] for name in ("greymatch", "pandas"))
        lines.append(
            f"| {kind} of {len(result['seconds']['pandas'])} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=9)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = summary(asked.rows, measured(written(Path(folder) / "rows.parquet", asked.rows), asked.turns))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "parquet.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "parquet.md").write_text(table(result))
    print(table(result))
