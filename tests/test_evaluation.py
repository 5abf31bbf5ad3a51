from __future__ import annotations

import pytest

from greymatch.evaluation import evaluate


@pytest.mark.filterwarnings("ignore::greymatch.models.unusual.UnusualHistoryWarning")
def test_calibration_is_of_what_was_evaluated(small_model, swings) -> None:
    evaluation = evaluate(small_model, swings[1], given=10, draws=40)
    found = evaluation.calibration()
    assert found.forecasts["angle"].at(0.9) == pytest.approx(evaluation.scores.coverage)
    assert found.parameters["omega"].at(0.9) == pytest.approx(evaluation.parameters()["omega"]["coverage"])
    assert found.parameters["omega"].independent == 24
    assert set(found.energy) == {"forecast", "parameters"}
