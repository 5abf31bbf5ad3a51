from __future__ import annotations

from typing import Any

import pytest

from greymatch.bench.summary import Summary
from greymatch.bench.views.parameters import view


def test_errors_are_divided_by_the_priors_run_by_run(result: Any) -> None:
    first, second = result("vgb-dm", 1.0), result("vgb-dm", 3.0)
    second["parameters"]["omega"] |= {"rmse": 0.068}
    (row,) = view([first, second, result("vbb-dm", 1.0)]).sheets["parameters"].rows
    ratio = row["ratio"]
    assert isinstance(ratio, Summary)
    assert ratio.mean == pytest.approx((0.5 + 0.1) / 2)
    assert row["mse"] == Summary(2.0, 2**0.5, 2)


def test_levels_of_noise_stand_apart(result: Any) -> None:
    sheet = view([result("vgb-dm", 1.0), result("vgb-dm", 2.0, noise=0.05)]).sheets["parameters"]
    assert [row["noise"] for row in sheet.rows] == ["0 %", "5 %"]
    assert "noise" in sheet.heads
    assert "noise" not in view([result("vgb-dm", 1.0)]).sheets["parameters"].heads
