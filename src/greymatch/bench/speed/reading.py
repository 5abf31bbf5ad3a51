"""Rows per second of reading tables, beside pandas reading the same file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.timing import Measured, in_turns
from greymatch.data.read import read

LENGTH = 1000
READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}


def reading(sizes: Sizes) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        table = recordings(sizes.rows)
        for suffix, plain in READERS.items():
            path = Path(folder) / f"rows{suffix}"
            table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
            ways = {
                "ours": lambda path=path: read(path, trajectory="id", time="t"),
                "plain": lambda path=path, plain=plain: plain(path),
            }
            found = in_turns(ways, sizes.turns)
            note = "columns alone there; trajectories, checked and in float tensors, here"
            yield Measured(
                "reading",
                f"{suffix[1:]}, {len(table)} rows",
                "rows / s",
                len(table),
                found["ours"],
                found["plain"],
                "pandas",
                note=note,
            )


def recordings(rows: int) -> pd.DataFrame:
    """Recordings of a thousand points of two states, as a long table."""
    rng, count = np.random.default_rng(0), max(1, rows // LENGTH)
    columns = {"id": np.repeat(np.arange(count), LENGTH), "t": np.tile(0.1 * np.arange(LENGTH), count)}
    return pd.DataFrame(columns | {name: rng.normal(size=count * LENGTH) for name in ("angle", "speed")})
