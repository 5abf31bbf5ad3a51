from __future__ import annotations

import numpy as np
import xarray as xr

from greymatch.bench.summary import Summary
from greymatch.weather.bench.tables import cells_sheet, facts_sheet, score_sheet


def scores(rmse: list[list[float]]) -> xr.Dataset:
    """Of two leads and two fields; the ACC falls as the RMSE rises."""
    values = np.array(rmse)
    dims = ("lead", "field")
    axes = {"lead": [6, 24], "field": ["z500", "t2m"]}
    return xr.Dataset({"rmse": (dims, values), "acc": (dims, 1 - values / 10)}, axes)


SCORED = {
    "vgb-dm": [scores([[1, 2], [2, 2]]), scores([[1, 4], [2, 6]])],
    "persistence": [scores([[2, 2], [8, 5]])],
}


def test_the_best_of_each_cell_stands_out() -> None:
    sheet = score_sheet("RMSE", "rmse", SCORED)
    assert sheet.rows[0]["6"] == Summary(1.0, 0.0, 2)
    assert [sheet.rows[row]["forecast"] for row, key in sorted(sheet.bold) if key == "6"] == ["vgb-dm", "persistence"]
    highest = score_sheet("ACC", "acc", SCORED)
    assert sheet.bold == highest.bold


def test_cells_are_counted_by_the_mean_over_seeds() -> None:
    (row,) = cells_sheet(SCORED).rows
    assert row["rmse"] == row["acc"] == "3 of 4"  # t2m at 6 h: 3 against 2
    assert row["z500_24"] == 0.25


def test_cells_are_counted_with_a_share_of_the_data_too() -> None:
    some = {f"{name} (0.1 of the data)" if name == "vgb-dm" else name: seeds for name, seeds in SCORED.items()}
    assert cells_sheet(some).rows == cells_sheet(SCORED).rows


def test_the_worst_of_all_long_forecasts_is_told() -> None:
    run = {"method": "vgb-dm", "share": 1.0, "winds": {"z500": 0.5}, "stability": None}
    run["record"] = {"parameters": 10, "steps": 5, "seconds": 60.0}
    long = {"beyond": {"z500": 0.1, "t2m": None}, "lost": 1, "starts": 20}
    (row,) = facts_sheet([run, {**run, "stability": long}]).rows
    assert row["beyond"] == float("inf")  # null in a file is what was not finite
    assert row["lost"] == "1 of 20"
    assert row["wind_z500"] == Summary(0.5, 0.0, 2)
