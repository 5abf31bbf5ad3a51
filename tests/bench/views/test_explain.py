from __future__ import annotations

from typing import Any

import pytest

from greymatch.bench.benchmark import Choice
from greymatch.bench.summary import Summary
from greymatch.bench.views.explain import plan, view


def test_every_level_of_noise_is_a_run_of_its_own() -> None:
    runs = plan(Choice(["pendulum", "rlc"], ["vgb-dm"], [0, 1], noise=(0.0, 0.05))).runs
    assert len({run.name for run in runs}) == len(runs) == 8
    assert all(run.explain for run in runs)
    assert {(run.noise, run.label) for run in runs} == {(0.0, ""), (0.05, "noise-5")}


def test_seeds_are_summed_up_for_each_level_of_noise(result: Any, told: Any) -> None:
    results = [
        result("vgb-dm", 1.0, explanation=_with_more(told(1.0), 0.9)),
        result("vgb-dm", 1.0, explanation=_with_more(told(3.0, right=False, error=0.03), 0.8), seed=1),
        result("vgb-dm", 1.0, explanation=told(8.0, twice=False), label="noise-5", noise=0.05),
    ]
    shown = view(results)
    clean, noisy = shown.sheets["explain"].rows
    assert (clean["noise"], clean["right"], noisy["noise"], noisy["right"]) == ("0 %", "1 of 2", "5 %", "1 of 1")
    assert clean["missing"] == "angle: -1 angle_dot +0.1 angle"
    assert isinstance(clean["error"], Summary)
    assert clean["error"].mean == pytest.approx(0.02)
    assert clean["refitted_twice"] == Summary(2.0, 2**0.5, 2)
    assert noisy["refitted_twice"] == Summary(None, None, 1)
    omega = shown.sheets["parameters"].rows[0]
    assert isinstance(omega["network"], Summary)
    assert isinstance(omega["refitted"], Summary)
    assert (omega["network"].mean, omega["refitted"].mean) == (pytest.approx(0.5), pytest.approx(0.05))
    for rows in (shown.sheets["explain"].rows, shown.sheets["parameters"].rows):
        fresh = [row["refitted_fresh"] for row in rows]
        assert isinstance(fresh[0], Summary)
        assert fresh[0].mean == pytest.approx(0.85)
        assert fresh[1] == Summary(None, None, 1)  # a run that was judged by the test split alone
    assert shown.draw is not None
    assert [label.get_text() for label in shown.draw().axes[0].get_yticklabels()] == ["pendulum", "pendulum, 5 %"]


def _with_more(told: dict[str, Any], coverage: float) -> dict[str, Any]:
    """The explanation with what 1000 more trajectories say."""
    parameters = {name: {"omega": {"coverage": coverage}} for name in ("network", "refitted")}
    forecasts = {name: {"once": {"coverage": coverage}} for name in ("network", "refitted")}
    return {**told, "fresh": {"parameters": parameters, "forecasts": forecasts}}


def test_nothing_to_show_is_shown_as_nothing() -> None:
    assert view([]).draw is None
