from __future__ import annotations

import math
from typing import Any

from greymatch.bench.summary import Summary
from greymatch.bench.views.table import matrix, table
from greymatch.systems import pendulum


def test_rows_are_best_first_with_the_references_once(result: Any) -> None:
    found = table([result("vgb-dm", 1.0), result("vgb-dm", 3.0), result("vbb-dm", None)]).rows
    assert [row["method"] for row in found] == ["zero", "vgb-dm", "hold", "vbb-dm"]
    best = found[1]
    assert (best["seeds"], best["mse"]) == (2, Summary(2.0, math.sqrt(2.0), 2))
    assert best["paper_mse"] == pendulum.paper_mse["vgb-dm"]
    assert best["weights"] == "7 (4 + 3)"


def test_a_reference_has_no_runs_and_no_spread(result: Any) -> None:
    sheet = table([result("gb-dm", 1.0)])
    cells = dict(zip(sheet.heads, sheet.cells(0), strict=True))
    assert (cells["method"], cells["seeds"], cells["mse"], cells["seconds"]) == ("zero", "", "0.1", "")


def test_the_best_of_each_system_is_bold(result: Any) -> None:
    lines = matrix(
        [
            result("vgb-dm", 1.0),
            result("vbb-dm", 2.0),
            result("vgb-dm", None, system="rlc"),
            result("vbb-dm", 5.0, system="rlc"),
        ]
    )
    first, second = lines.markdown().splitlines()[2:]
    assert first.startswith("| pendulum | **1** | 2 | 0.1 (zero) | 2.83e-03 |")
    assert second.startswith("| rlc | – | **5** |")


def test_ours_is_marked_only_within_one_standard_error_of_the_first(result: Any) -> None:
    def marked(*errors: float) -> bool:
        ours = [result("vgb-dm", error) for error in errors]
        return "≈" in matrix([*ours, result("tfm", 1.0), result("tfm", 1.0)]).markdown()

    assert marked(1.0, 2.0)  # 1.5, standard error 0.5
    assert not marked(1.3, 1.7)  # 1.5, standard error 0.2
    assert not marked(0.5, 0.7)  # first


def test_a_method_that_a_system_lacks_leaves_its_cell_empty(result: Any) -> None:
    sheet = matrix([result("vgb-dm", 1.0), result("tfm", 1.0, system="rlc")])
    assert sheet.cells(0)[1:3] == ["1", ""]
