"""What the page says of the missing part, of an explanation made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from greymatch.checking.confounding import Confounded
from greymatch.checking.library import Column
from greymatch.explain.advice import Advice
from greymatch.explain.explanation import Coefficient, Explanation
from greymatch.explain.terms import Term
from greymatch.report.missing import AMORTISED, REFITTED, missing

DRAG = Coefficient(Term((("angle_dot", 1),)), torch.tensor([-1.0, -1.2, -1.1]), ("z1", -0.99))


@pytest.fixture
def advice(make) -> Advice:
    """Friction found, and a refitted model that is surer of the parameter than the one of the page."""
    evaluation = make()
    posterior = evaluation.posterior
    surer = replace(posterior, draws=posterior.draws.mean(0) + 0.1 * (posterior.draws - posterior.draws.mean(0)))
    refitted = SimpleNamespace(physics=evaluation.model.physics, infer=lambda history: surer)
    explanation = Explanation(
        evaluation.model.physics, {"angle": (DRAG,)}, {"angle": 0.999}, {"angle": 0.0}, evaluation.model.settings
    )
    return Advice(explanation, cast("Any", refitted), error=2e-3, refitted_error=1e-3, confounded=())


def published(make, advice: Advice) -> str:
    found = missing(make(), advice)
    assert found is not None
    assert found.parameters is not None
    assert found.parameters.rows[0].name == "omega"
    return found.parameters.rows[0].cells[0]


def test_the_term_stands_with_its_coefficient_spread_and_fidelity(make, advice: Advice):
    found = missing(make(), advice)
    assert found is not None
    assert found.terms is not None
    assert found.equations.endswith("= known - 1.1 angle_dot")
    assert found.terms.rows[0].cells == ("angle_dot", "-1.1", "0.068", "z1 (-0.99)", "0.999")
    assert "0.001 against 0.002 (geometric means over trajectories)" in found.verdict
    assert found.good


def test_the_surer_answer_is_published_if_the_terms_can_be_trusted(make, advice: Advice):
    assert published(make, advice) == REFITTED
    assert published(make, replace(advice, error=1e-4)) == AMORTISED
    unfaithful = replace(advice.explanation, fidelity={"angle": 0.5})
    assert published(make, replace(advice, explanation=unfaithful)) == AMORTISED


def test_a_confounded_parameter_is_warned_of_and_taken_from_the_refitted_model(make, advice: Advice):
    posterior = make().posterior
    wide = replace(posterior, draws=posterior.draws.mean(0) + 3 * (posterior.draws - posterior.draws.mean(0)))
    less_sure = replace(
        advice, refitted=cast("Any", SimpleNamespace(physics=make().model.physics, infer=lambda history: wide))
    )
    assert published(make, less_sure) == AMORTISED
    pulled = Confounded("omega", 1.0, (Column("angle", "angle"),), 0.8, (Column("angle", "angle_dot"),))
    warned = replace(less_sure, confounded=(pulled,))
    assert published(make, warned) == REFITTED
    found = missing(make(), warned)
    assert found is not None
    assert found.cautions[0].startswith("'omega' is confounded")
    note = replace(warned, confounded=(replace(pulled, pull=0.1),))
    assert published(make, note) == AMORTISED


def test_a_coefficient_that_varies_and_follows_nothing_is_doubted(make, advice: Advice):
    varied = Coefficient(DRAG.term, torch.tensor([-1.0, -2.0, -0.5]), None)
    found = missing(make(), replace(advice, explanation=replace(advice.explanation, missing={"angle": (varied,)})))
    assert found is not None
    assert found.cautions[0].startswith("The coefficient of angle_dot in the equation of angle differs much between")
    assert "angle_dot |angle_dot| for angle_dot" in found.cautions[0]


def test_nothing_missing_is_said_in_words(make, advice: Advice):
    nothing = replace(advice.explanation, missing={"angle": ()})
    found = missing(make(), replace(advice, explanation=nothing))
    assert found is not None
    assert found.terms is None
    assert "all there is" in found.verdict
    assert missing(make(), None) is None
