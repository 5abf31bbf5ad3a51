from __future__ import annotations

import json
from pathlib import Path

import pytest

from greymatch.bench.history import MOST_POINTS, curves, short


def metrics(folder: Path, count: int) -> Path:
    lines = [
        {"step": i, "total": 1.0, "matching": float(i), "noise_0": 0.1, "noise_1": 0.3, "elapsed": i / 2, "rate": 0.1}
        | ({"forecast_mse": 1 / i} if i % 50 == 0 else {})
        for i in range(1, count + 1)
    ]
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_curve_and_terms(tmp_path: Path) -> None:
    found = curves(metrics(tmp_path, 200))
    assert found["curve"] == {"seconds": [25.0, 50.0, 75.0, 100.0], "step": [50, 100, 150, 200],
                              "mse": [0.02, 0.01, 0.006667, 0.005]}  # fmt: skip
    terms = found["terms"]
    assert terms["curve"].keys() == {"matching", "velocity_error"}
    assert len(terms["seconds"]) == len(terms["curve"]["matching"]) == MOST_POINTS
    assert (terms["curve"]["matching"][0], terms["curve"]["matching"][-1]) == (1.0, 200.0)


def test_short_runs_and_lost_values(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "elapsed": 0.1, "matching": null}\n')
    found = curves(path)
    assert found["terms"]["curve"] == {"matching": [None]}
    assert found["curve"] == {"seconds": [], "step": [], "mse": []}


@pytest.mark.parametrize(("value", "kept"), [(1 / 3, 0.3333), (123456.0, 123500.0), (7, 7), (None, None)])
def test_short(value: float | None, kept: float | None) -> None:
    assert short(value) == kept
