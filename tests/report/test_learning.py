from __future__ import annotations

from typing import Any

from greymatch.report.figures import style
from greymatch.report.learning import learning

RECORDS = [
    {"step": s, "elapsed": s / 8, "total": 5.0, "matching": 4.0, "kl_theta": 1.0, "kl_z": 0.5, "new_term": 0.1}
    | {"noise_0": 0.1, "rate": 1e-3}
    | ({"forecast_mse": 1.0 / s} if s % 100 == 0 else {})
    for s in range(50, 601, 50)
]


def plate_of(evaluation, records) -> Any:
    with style():
        return learning(evaluation, records)


def test_validations_and_terms_are_drawn(make) -> None:
    plate = plate_of(make(), RECORDS)
    assert [panel.heading for panel in plate.panels] == ["Forecast MSE", "Terms of the loss"]
    # the record says that the weights of step 500 were kept
    assert "0.002 with the weights kept" in plate.panels[0].remark
    labels = [key.label for key in plate.legend]
    assert labels == ["weights that were kept", "matching", "KL of the parameters", "KL of the latents", "new term"]
    assert "600 steps took 1 min 15 s" in plate.caption


def test_a_run_stopped_before_its_first_validation_has_terms_only(make) -> None:
    plate = plate_of(make(), RECORDS[:1])
    assert [panel.heading for panel in plate.panels] == ["Terms of the loss"]


def test_no_records_no_figure(make) -> None:
    assert plate_of(make(), []) is None
