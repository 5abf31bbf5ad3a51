"""The metrics.jsonl that a run leaves behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from greymatch.errors import GreymatchError


def read_metrics(path: str | Path) -> list[dict[str, Any]]:
    """One record a line; a line cut short by a crash ends the reading."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise GreymatchError(
            f"`metrics` must be the metrics.jsonl of the run; {str(path)!r} cannot be read ({error}). "
            "Give the one in the run's folder, or leave it out."
        ) from None
    records = []
    for line in filter(str.strip, lines):
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            break
        if isinstance(record, dict):
            records.append(record)
    return records


def series(records: list[dict[str, Any]], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of training and the values of one metric where it was logged."""
    pairs = [(record["elapsed"], record[name]) for record in records if name in record and "elapsed" in record]
    table = np.array(pairs, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]
