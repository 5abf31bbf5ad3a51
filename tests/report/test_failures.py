from __future__ import annotations

from greymatch.report.failures import failures
from greymatch.simulation.status import Status


def test_no_failure_is_said_in_a_line(make) -> None:
    found = failures(make())
    assert found.summary.startswith("None: all 270 members")
    assert found.table is None


def test_failures_are_counted_by_their_message(make) -> None:
    evaluation = make(failed=4, labels=["left", *"bcdefghi"])
    evaluation.forecast.status[0, 3] = Status.TOO_MANY_STEPS
    found = failures(evaluation)
    assert found.summary.startswith("5 of 270 members")
    assert "members left" in found.summary
    assert found.table is not None
    rows = {row.name: row.cells for row in found.table.rows}
    assert rows == {
        Status.NOT_FINITE.message: ("4", "1", "left"),
        Status.TOO_MANY_STEPS.message: ("1", "1", "d"),
    }


def test_lost_trajectories_are_named(make) -> None:
    assert "the error is infinite: left" in failures(make(failed=30, labels=["left", *"bcdefghi"])).summary
