from __future__ import annotations

from typing import Any

from greymatch.bench.benchmark import Choice
from greymatch.bench.summary import Summary
from greymatch.bench.views.samples import plan, view


def test_sizes_end_with_the_whole_split_which_other_benchmarks_share() -> None:
    runs = plan(Choice(["pendulum", "reaction_diffusion"], ["tfm"], [0])).runs
    sizes = {
        system: [run.train for run in runs if run.system == system] for system in ("pendulum", "reaction_diffusion")
    }
    assert sizes == {"pendulum": [10, 25, 50, 100, 250, None], "reaction_diffusion": [10, 25, None]}
    assert (runs[0].name, runs[5].name) == ("pendulum-tfm-n10-0", "pendulum-tfm-0")


def test_rows_go_from_few_to_many(result: Any) -> None:
    few = [result("vgb-dm", error, trajectories={"train": 10}) for error in (1.0, 3.0)]
    (first, second) = view([result("vgb-dm", 0.5), *few]).sheets["samples"].rows
    assert (first["trajectories"], first["vgb-dm"]) == (10, Summary(2.0, 2**0.5, 2))
    assert (second["trajectories"], second["vgb-dm"]) == (1000, Summary(0.5, None, 1))
