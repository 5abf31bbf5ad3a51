"""What the metrics of a run tell afterwards: how the forecast error fell, and where the terms of the loss ended."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

MOST_POINTS = 100
LAST_PART = 0.1
VELOCITY = "velocity_error"
_NO_TERMS = ("step", "elapsed", "rate", "total", "forecast_", "noise_")


def curves(metrics: Path) -> dict[str, Any]:
    """`curve`: validation MSE over seconds and steps; `terms`: mean over the last tenth, and thinned curves."""
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
    last = records[-max(1, round(LAST_PART * len(records))) :]
    kept = [records[i] for i in thinned(len(records))]
    return {
        "last": {name: _mean([record.get(name) for record in last]) for name in names},
        "seconds": [short(record["elapsed"]) for record in kept],
        "curve": {name: [short(record.get(name)) for record in kept] for name in names},
    }


def thinned(count: int) -> list[int]:
    """Positions among `count`, evenly spread, first and last included."""
    kept = min(count, MOST_POINTS)
    return [round(i * (count - 1) / max(kept - 1, 1)) for i in range(kept)]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return short(fmean(known)) if known else None


def short(value: float | None, digits: int = 4) -> float | None:
    """Few digits, so that a result file stays small."""
    return value if value is None or isinstance(value, int) else float(f"{value:.{digits}g}")
