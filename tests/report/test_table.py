from __future__ import annotations

import math

import pytest

from greymatch.report.table import COLUMNS, by_state, honest_table, published
from greymatch.systems import pendulum


def as_number(cell: str) -> float:
    return {"–": math.nan, "∞": math.inf}[cell] if cell in "–∞" else float(cell)


def test_cells_are_the_scores_best_first(make) -> None:
    evaluation = make()
    table = honest_table(evaluation)
    expected = evaluation.table()
    assert [row.name.removesuffix(" (the model)") for row in table.rows] == list(expected.index)
    for row in table.rows:
        scores = {"vgb-dm (the model)": evaluation.scores} | evaluation.references
        wanted = [getattr(scores[row.name], column) for column in COLUMNS]
        wanted.append(scores[row.name].mse / evaluation.scores.mse)
        assert [as_number(cell) for cell in row.cells] == pytest.approx(wanted, rel=0.01, nan_ok=True)
    errors = [as_number(row.cells[0]) for row in table.rows]
    assert errors == sorted(errors)
    assert [row.marked for row in table.rows] == ["model" in row.name for row in table.rows]


def test_a_lost_model_comes_last(make) -> None:
    table = honest_table(make(failed=30))
    assert table.rows[-1].marked
    assert table.rows[-1].cells[0] == "∞"


def test_states_have_rows_of_their_own(make) -> None:
    evaluation = make(states=("angle", "speed"), units={"speed": "m/s"})
    table = by_state(evaluation)
    assert table is not None
    assert [row.name for row in table.rows] == ["angle", "speed (m/s)"]
    totals = evaluation.scores.table()
    assert [float(row.cells[0]) for row in table.rows] == pytest.approx(totals["mse"].to_list()[:2], rel=0.01)
    assert by_state(make()) is None


def test_published_figures_only_where_there_are_any() -> None:
    assert "0.00283" in published(pendulum)
    assert published(None) == ""
