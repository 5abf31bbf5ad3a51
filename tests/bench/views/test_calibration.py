from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from greymatch.bench.summary import Summary
from greymatch.bench.views.calibration import HEADS, view

SHARES: list[float | None] = [0.55, 0.82, 0.91, 0.96]


def measured(shares: list[float | None] = SHARES) -> dict[str, Any]:
    one = {"coverage": shares, "crps": 0.2, "spread_skill": 1.1}
    return {"levels": [0.5, 0.8, 0.9, 0.95], "forecasts": {"all": one}, "parameters": {"omega": one}}


def cells(results: list[Any]) -> list[dict[str, str]]:
    sheet = view(results).sheets["calibration"]
    return [dict(zip(HEADS, sheet.cells(i), strict=True)) for i in range(len(sheet.rows))]


def test_forecasts_and_parameters_have_their_rows(result: Any) -> None:
    forecast, omega, other = cells([result("vgb-dm", 1.0, calibration=measured()), result("vbb-dm", 1.0)])
    assert [row["of"] for row in (forecast, omega, other)] == ["forecast", "omega", "forecast"]
    assert [omega[level] for level in ("50", "80", "90", "95")] == ["0.55", "0.82", "0.91", "0.96"]
    assert (omega["crps"], omega["spread_skill"]) == ("0.2", "1.1")
    assert forecast["crps"] == "0.1"  # that of the table


def test_a_result_from_before_tells_what_it_knows(result: Any) -> None:
    forecast, omega = cells([result("vgb-dm", 1.0)])
    assert [forecast[level] for level in ("50", "80", "90", "95")] == ["–", "–", "0.9", "–"]
    assert [omega[level] for level in ("50", "90", "crps", "spread_skill")] == ["–", "0.9", "–", "–"]


def test_five_draws_show_no_interval_of_90_percent(result: Any) -> None:
    forecast, _ = cells([result("vgb-dm", 1.0, draws=5)])
    assert forecast["90"] == "–"
    few = measured([0.55, None, None, None])
    forecast, _ = cells([result("vgb-dm", 1.0, draws=5, calibration=few)])
    assert [forecast[level] for level in ("50", "80", "90", "95")] == ["0.55", "–", "–", "–"]


def test_seeds_are_averaged_over_those_that_know(result: Any) -> None:
    low = result("vgb-dm", 1.0, calibration=measured())
    high = result("vgb-dm", 1.0, calibration=measured([0.65, 0.9, 0.95, 0.98]))
    rows = view([low, high, result("vgb-dm", 1.0)]).sheets["calibration"].rows
    half, outer = rows[0]["50"], rows[0]["90"]
    assert isinstance(half, Summary)
    assert isinstance(outer, Summary)
    assert (half.mean, half.count) == (pytest.approx(0.6), 2)
    assert (outer.mean, outer.count) == (pytest.approx((0.91 + 0.95 + 0.9) / 3), 3)
    assert rows[0]["seeds"] == 3


def test_it_is_drawn_whatever_is_known(result: Any) -> None:
    shown = view([result("vgb-dm", 1.0, calibration=measured()), result("vbb-dm", 1.0, draws=5)])
    assert shown.draw is not None
    (axes,) = [one for one in shown.draw().axes if one.get_visible()]
    drawn = [np.asarray(line.get_xydata()) for line in axes.lines]
    shares = [points[:, 1].tolist() for points in drawn if points[:, 0].tolist() == [0.5, 0.8, 0.9, 0.95]]
    assert shares == [SHARES, SHARES]  # the forecast's and omega's
