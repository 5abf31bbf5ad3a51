from __future__ import annotations

from typing import Any

from greymatch.bench.summary import Summary
from greymatch.cli.source import Source
from greymatch.settings import Settings
from greymatch.sweep.table import table
from greymatch.sweep.trial import Trial


def done(width: int, seed: int, error: float | None) -> tuple[Trial, dict[str, Any]]:
    trial = Trial(Source("pendulum"), Settings().updated({"training.seed": seed}), {"residual.width": width})
    return trial, {"validation_error": error, "seconds": 2.0, "steps": 10 + seed}


def test_the_best_mean_over_seeds_is_first_and_what_diverged_last() -> None:
    found = table([done(8, 0, None), done(16, 0, 0.5), done(32, 0, 0.1), done(32, 1, 0.3)])
    assert [row["residual.width"] for row in found.rows] == [32, 16, 8]
    error = found.rows[0]["validation_error"]
    assert isinstance(error, Summary)
    assert (error.mean, found.rows[0]["seeds"]) == (0.2, 2)
    assert found.rows[0]["runs"] == "residual.width=32-seed0 residual.width=32-seed1"
    assert found.bold == {(0, "validation_error")}


def test_no_results_make_an_empty_table() -> None:
    assert table([]).markdown().startswith("| validation error |")
