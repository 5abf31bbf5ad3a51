from __future__ import annotations

from typing import Any

from greymatch.bench.benchmark import Choice
from greymatch.bench.summary import Summary
from greymatch.bench.views.samples import plan, view


def test_sizes_end_with_the_whole_split() -> None:
    runs = plan(Choice(["pendulum", "reaction_diffusion"], ["tfm"], [0])).runs
    sizes = {
        system: [run.train for run in runs if run.system == system] for system in ("pendulum", "reaction_diffusion")
    }
    assert sizes == {"pendulum": [10, 50, 250, 1000], "reaction_diffusion": [10, 25, 50]}
    assert (runs[0].name, runs[3].name) == ("pendulum-tfm-n10-0", "pendulum-tfm-n1000-0")
    assert (runs[0].test, runs[-1].test) == (None, 20)


def test_the_users_budget_wins_over_the_benchmarks() -> None:
    (own, *_), (users, *_) = (plan(Choice(["rlc"], ["tfm"], [0], c)).runs for c in ({}, {"training.steps": 7}))
    assert own.settings().training.minutes == 0.5
    assert (users.settings().training.minutes, users.settings().training.steps) == (None, 7)


def test_rows_go_from_few_to_many(result: Any) -> None:
    few = [result("vgb-dm", error, trajectories={"train": 10}) for error in (1.0, 3.0)]
    (first, second) = view([result("vgb-dm", 0.5), *few]).sheets["samples"].rows
    assert (first["trajectories"], first["vgb-dm"]) == (10, Summary(2.0, 2**0.5, 2))
    assert (second["trajectories"], second["vgb-dm"]) == (1000, Summary(0.5, None, 1))
