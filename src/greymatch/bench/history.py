"""What the metrics of a run tell afterwards: how the forecast error fell, and where the terms of the loss ended."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

MOST_POINTS = 100
VELOCITY = "velocity_error"
_NO_TERMS = ("step", "elapsed", "rate", "total", "forecast_", "noise_")


def curves(metrics: Path) -> dict[str, Any]:
    """`curve`: validation MSE over seconds and steps; `terms`: those of the loss over seconds, thinned."""
    from greymatch.report.metrics import read_metrics

    records = [_with_velocity_error(record) for record in read_metrics(metrics)]
    validated = [record for record in records if "forecast_mse" in record]
    names = {"seconds": "elapsed", "step": "step", "mse": "forecast_mse"}
    curve = {name: [short(record[key]) for record in validated] for name, key in names.items()}
    return {"curve": curve, "terms": _terms(records)}


def _with_velocity_error(record: dict[str, Any]) -> dict[str, Any]:
    """The matching term weighs errors by the noise and so stays level; the noise itself tells how well it matches."""
    noise = [value for name, value in record.items() if name.startswith("noise_") and value is not None]
    return record | ({VELOCITY: fmean(value**2 for value in noise)} if noise else {})


def _terms(records: list[dict[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for record in records for name in record if not name.startswith(_NO_TERMS))
    kept = [records[i] for i in thinned(len(records))]
    return {
        "seconds": [short(record["elapsed"]) for record in kept],
        "curve": {name: [short(record.get(name)) for record in kept] for name in names},
    }


def thinned(count: int) -> list[int]:
    """Positions among `count`, evenly spread, first and last included."""
    kept = min(count, MOST_POINTS)
    return [round(i * (count - 1) / max(kept - 1, 1)) for i in range(kept)]


def short(value: float | None, digits: int = 4) -> float | None:
    """Few digits, so that a result file stays small."""
    return value if value is None or isinstance(value, int) else float(f"{value:.{digits}g}")
