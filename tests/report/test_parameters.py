from __future__ import annotations

from typing import Any

from greymatch.report.figures import style
from greymatch.report.numbers import number
from greymatch.report.parameters import parameters


def plate_of(evaluation) -> Any:
    with style():
        return parameters(evaluation)


def test_only_free_parameters_are_shown_each_with_its_scores(make) -> None:
    evaluation = make()
    plate = plate_of(evaluation)
    assert [panel.heading for panel in plate.panels] == ["omega", "drift"]
    judged = evaluation.parameters()["omega"]
    for value in (number(judged["rmse"]), number(judged["prior_rmse"]), f"{100 * judged['coverage']:.0f} %"):
        assert value in plate.panels[0].remark
    assert plate.panels[1].remark == "truth not known"
    assert "omega, true" in plate.panels[0].svg


def test_without_truth_the_prior_is_the_measure(make) -> None:
    evaluation = make(known=False)
    plate = plate_of(evaluation)
    assert evaluation.parameters() == {}
    assert "No truth" in plate.caption
    assert "by posterior mean" in plate.panels[0].svg
    assert "truth" not in [key.label for key in plate.legend]


def test_a_black_box_has_none(make) -> None:
    assert plate_of(make(method="vbb-dm")) is None
