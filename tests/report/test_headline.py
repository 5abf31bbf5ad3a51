from __future__ import annotations

import re
from dataclasses import replace

import pytest

from greymatch.report.headline import headline


def figures(evaluation) -> dict[str, str]:
    return {figure.name: figure.value for figure in headline(evaluation, None).figures}


def test_verdict_of_a_good_model_names_the_best_reference_and_the_factor(make) -> None:
    evaluation = make()
    head = headline(evaluation, None)
    best = min(evaluation.references.values(), key=lambda scores: scores.mse)
    assert head.good
    assert f"“{evaluation.best_reference}”" in head.verdict
    (times,) = re.findall(r"has ([\d.]+) times", head.verdict)
    assert float(times) == pytest.approx(best.mse / evaluation.scores.mse, rel=0.01)


def test_verdict_of_a_bad_model_says_so(make) -> None:
    evaluation = make(noise=9.0)
    head = headline(evaluation, None)
    assert not head.good
    assert head.verdict.startswith("It did not beat the references")
    (times,) = re.findall(r"is ([\d.]+) times", head.verdict)
    best = evaluation.references[evaluation.best_reference]
    assert float(times) == pytest.approx(evaluation.scores.mse / best.mse, rel=0.01)


def test_verdict_of_a_lost_trajectory_is_failure(make) -> None:
    assert "every member of the forecast diverged in 1 trajectory" in headline(make(failed=30), None).verdict


def test_key_figures_are_those_of_the_evaluation(make) -> None:
    evaluation = make()
    shown = figures(evaluation)
    assert float(shown["Forecast MSE"]) == pytest.approx(evaluation.scores.mse, rel=0.01)
    assert float(shown["Parameter RMSE"]) == pytest.approx(evaluation.parameters()["omega"]["rmse"], rel=0.01)
    assert shown["90 % bands hold"] == f"{100 * evaluation.scores.coverage:.0f} %"
    assert shown["Training time"] == "1 min 15 s"


def test_nothing_is_claimed_that_is_not_known(make) -> None:
    evaluation = make(known=False, draws=1)
    evaluation = replace(evaluation, model=replace(evaluation.model, record={}))
    shown = figures(evaluation)
    assert shown["Parameter RMSE"] == shown["90 % bands hold"] == shown["Training time"] == "–"


def test_what_was_fitted_is_told(make) -> None:
    evaluation = make(trajectories=1)
    text = headline(evaluation, evaluation.test).fitted
    for part in ("vgb-dm", "waves", "angle", "omega, drift", "Learned from 1 trajectory", "first 8 points", "3.2"):
        assert part in text
