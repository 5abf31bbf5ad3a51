from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from greymatch.bench.table import Summary, cells, comma_separated, markdown, rows, write_table
from greymatch.systems import pendulum


def result(method: str, mse: float | None, seconds: float = 10.0) -> dict[str, Any]:
    scores = {"mse": mse, "nmse": mse, "crps": 0.1, "coverage": 0.9}
    return {
        "system": "pendulum",
        "method": method,
        "scores": scores,
        "central": {"mse": 2.0},
        "training_seconds": seconds,
        "validation_error": 0.5,
        "parameter_count": 7,
        "parameters": {"omega": {"rmse": mse, "prior_rmse": 0.68, "coverage": 0.9}} if method != "vbb-dm" else {},
        "references": {"hold": {"mse": 3.0, "nmse": 3.0, "crps": 1.0}, "zero": {"mse": 0.1, "nmse": 1.0, "crps": 0.2}},
    }


def test_mean_and_sample_standard_deviation() -> None:
    found = Summary.of([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3)
    assert found.std == pytest.approx(math.sqrt(7 / 3))  # over n - 1
    assert Summary.of([1.0]) == Summary(1.0, None)


def test_an_infinite_error_is_not_averaged_away() -> None:
    assert Summary.of([1.0, None]) == Summary(None, None)
    assert Summary.of([1.0, None]).text() == "–"


def test_rows_are_best_first_with_the_references_once() -> None:
    found = rows([result("vgb-dm", 1.0), result("vgb-dm", 3.0), result("vbb-dm", None)])
    assert [row.name for row in found] == ["zero", "vgb-dm", "hold", "vbb-dm"]
    best = found[1]
    assert (best.runs, best.measure("mse")) == (2, Summary(2.0, math.sqrt(2.0)))
    assert best.paper_mse == pendulum.paper_mse["vgb-dm"]
    assert best.parameters["omega"]["rmse"].mean == 2.0


def test_markdown_has_a_cell_under_every_head() -> None:
    lines = markdown(rows([result("vgb-dm", 1.0), result("vbb-dm", 2.0)])).splitlines()
    assert len(lines) == 2 + 4
    assert len({line.count("|") for line in lines}) == 1
    assert "omega 1 (0.68)" in lines[3]


def test_csv_keeps_every_digit() -> None:
    found = rows([result("vgb-dm", 0.1 + 0.2), result("vgb-dm", 0.3)])
    table = {row["method"]: row for row in csv.DictReader(io.StringIO(comma_separated(found)))}
    assert float(table["vgb-dm"]["mse"]) == found[1].measure("mse").mean
    assert float(table["vgb-dm"]["seconds_std"]) == 0.0
    assert float(table["vgb-dm"]["omega_prior_rmse"]) == pytest.approx(0.68)
    assert table["hold"]["seconds"] == ""


def test_files(tmp_path: Path) -> None:
    found = rows([result("gb-dm", 1.0)])
    content = write_table(found, tmp_path / "new", {"quick": True})
    assert json.loads((tmp_path / "new/table.json").read_text()) == content
    assert content["rows"][1]["name"] == "gb-dm"
    assert "mean nothing" in (tmp_path / "new/table.md").read_text()
    assert {path.suffix for path in (tmp_path / "new").iterdir()} == {".json", ".csv", ".md"}


def test_a_reference_has_no_runs_and_no_spread() -> None:
    found = cells(rows([result("gb-dm", 1.0)])[0])
    assert (found["method"], found["seeds"], found["MSE"], found["seconds"]) == ("zero", "", "0.1", "")
