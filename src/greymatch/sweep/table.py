"""What a sweep found: a row for each combination of settings, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from greymatch.bench.sheet import Row, Sheet
from greymatch.bench.summary import Summary, grouped
from greymatch.sweep.trial import Trial

Done = tuple[Trial, dict[str, Any]]
HEADS = {"validation_error": "validation error", "seeds": "seeds", "seconds": "seconds", "steps": "steps"}


def table(done: Sequence[Done]) -> Sheet:
    """Sorted by the error of validation forecasts, the mean over the seeds; what is not finite comes last."""
    keys = list(dict.fromkeys(key for trial, _ in done for key in trial.changes))
    alike = grouped(done, lambda one: repr(one[0].changes))
    rows = sorted((_row(runs) for runs in alike.values()), key=_order)
    return Sheet(
        title="Validation error (geometric mean over trajectories) of each combination, the best first",
        heads={key: key for key in keys} | HEADS,
        rows=rows,
        bold=frozenset({(0, "validation_error")} if rows else ()),
    )


def _row(runs: Sequence[Done]) -> Row:
    results = [result for _, result in runs]
    return {
        **{key: _cell(value) for key, value in runs[0][0].changes.items()},
        "validation_error": Summary.of([result["validation_error"] for result in results]),
        "seeds": len(results),
        "seconds": Summary.of([result["seconds"] for result in results]).mean,
        "steps": round(sum(result["steps"] for result in results) / len(results)),
        "weights": results[0].get("parameters"),
        "runs": " ".join(trial.name for trial, _ in runs),
    }


def _cell(value: Any) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _order(row: Row) -> float:
    error = row["validation_error"]
    assert isinstance(error, Summary)
    return error.order
