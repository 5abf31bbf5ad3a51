from __future__ import annotations

from typing import Any

from greymatch.bench.benchmark import Choice
from greymatch.bench.summary import Summary
from greymatch.bench.views.noise import BENCHMARK, LEVELS, plan, view


def test_every_method_is_run_at_every_level_and_ours_on_raw_data_too() -> None:
    runs = plan(Choice(["pendulum"], ["vgb-dm", "bb-node"], [0, 1], noise=LEVELS)).runs
    assert len({run.name for run in runs}) == len(runs) == 2 * 3 * len(LEVELS)
    assert {run.noise for run in runs} == set(LEVELS)
    raw = [run for run in runs if run.label.endswith("raw")]
    assert {run.method for run in raw} == {"vgb-dm"}
    assert all(run.settings().data.noise == 0 for run in raw)
    assert next(run for run in runs if run not in raw).settings().data.noise == "auto"


def test_the_best_of_each_level_stands_out(result: Any) -> None:
    results = [
        result("vgb-dm", 1.0, label="noise-1", noise=0.01),
        result("vgb-dm", 4.0, label="noise-1-raw", noise=0.01),
        result("bb-node", 2.0, label="noise-1", noise=0.01),
        result("vgb-dm", 9.0, label="noise-10", noise=0.1),
        result("bb-node", 8.0, label="noise-10", noise=0.1, seed=0),
        result("bb-node", 6.0, label="noise-10", noise=0.1, seed=1),
    ]
    shown = view(results)
    sheet = shown.sheets["noise"]
    told = [(row["noise"], row["method"], row["mse"].mean) for row in sheet.rows if isinstance(row["mse"], Summary)]
    assert told == [
        ("1 %", "vgb-dm", 1.0),
        ("1 %", "vgb-dm, raw", 4.0),
        ("1 %", "bb-node", 2.0),
        ("10 %", "vgb-dm", 9.0),
        ("10 %", "bb-node", 7.0),
    ]
    assert {row for row, _ in sheet.bold} == {0, 4}
    assert shown.draw is not None
    assert len(shown.draw().axes) == 1


def test_nothing_to_show_is_shown_as_nothing() -> None:
    assert view([]).draw is None
    assert BENCHMARK.systems == ("pendulum", "lorenz")
