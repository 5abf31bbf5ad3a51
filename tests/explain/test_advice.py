from __future__ import annotations

from dataclasses import replace

import torch

from greymatch.explain.advice import advise
from greymatch.explain.reading import explain
from greymatch.models.greybox import GreyBox


def test_terms_that_say_all_and_forecast_as_well_are_the_better_answer(asked, known):
    found = advise(asked, known[1])
    assert found.explanation.equations.splitlines()[0] == "a' = known"
    assert found.faithful
    assert found.refitted_error < 1e-3
    assert repr(found).startswith("a' = known\n")
    assert f"refitted {found.refitted_error:.3g} (geometric means over trajectories)" in repr(found)
    assert len(repr(found).splitlines()) < 10
    assert replace(found, error=found.refitted_error / 1.01).refit_is_better  # as well as the model, but for luck
    assert replace(found, error=2 * found.refitted_error).refit_is_better
    assert not replace(found, error=found.refitted_error / 2).refit_is_better


def test_terms_that_leave_something_unsaid_must_forecast_far_better(asked, known):
    found = advise(asked, known[1])
    doubtful = replace(found, explanation=replace(found.explanation, fidelity={"a": 1.0, "b": 0.9}))
    assert not replace(doubtful, error=2 * found.refitted_error).refit_is_better
    assert replace(doubtful, error=10 * found.refitted_error).refit_is_better


def test_a_parameter_that_a_missing_term_could_pass_for_is_named(damped):
    network, data, _, _ = damped
    found = advise(GreyBox(network.physics, network), data)
    assert [one.parameter for one in found.confounded] == ["k"]
    assert {column.term for column in found.confounded[0].columns} == {"a"}


def test_a_model_of_noisy_data_is_explained_as_by_itself(asked, known, seed):
    network, data, _, _ = known
    noisy = replace(data, values=data.values + 0.02 * torch.randn_like(data.values))
    network.observed.fill_(0.02)
    assert str(advise(asked, noisy).explanation) == str(asked.explain(noisy))
    assert str(explain(asked, noisy)) != str(asked.explain(noisy)), (
        "the noise that the model assumes makes a difference"
    )
