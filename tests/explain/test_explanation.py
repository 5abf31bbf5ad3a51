from __future__ import annotations

import math
import warnings
from dataclasses import replace

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.explain import Term, explain
from greymatch.explain.distil import distil
from greymatch.explain.refit import FitNotLawWarning
from greymatch.models.greybox import GreyBox


def test_the_missing_term_is_found_alone_with_the_coefficient_of_each_trajectory(asked, known):
    _, data, _, damping = known
    found = asked.explain(data)
    assert found.missing["a"] == ()
    (one,) = found.missing["b"]
    assert one.term == Term((("b", 1),))
    torch.testing.assert_close(one.values, -damping, atol=0.01, rtol=0)
    assert found.fidelity["b"] > 0.999
    assert one.follows is not None
    assert one.follows[0] == "z1"


def test_a_residual_that_says_more_than_was_left_unexplained_is_read(asked, known):
    _, data, _, _ = known
    network = asked.network
    share = float(distil(network, data).residual[..., 1].square().mean().sqrt() / network.dynamics.scales_top[1])
    network.noise.fill_(share / 1.5)
    assert [one.term for one in asked.explain(data).missing["b"]] == [Term((("b", 1),))]
    network.noise.fill_(3 * share)
    found = asked.explain(data)
    assert found.missing["b"] == ()
    assert "train longer" in str(found)


def test_it_says_so(asked, known):
    said = str(asked.explain(known[1])).splitlines()
    assert said[0] == "a' = known"
    assert said[-3].startswith("b' = known - 0.")
    assert said[-3].endswith(" b")
    assert "follows z1" in said[-2]


def test_friction_that_grows_with_speed_is_doubted_where_it_is_called_linear(asked, known):
    """What b |b| would be called as a multiple of b: as large as the speed of each trajectory."""
    found = asked.explain(known[1])
    (one,) = found.missing["b"]
    speeds = torch.linspace(0.2, 2.0, 12).double()
    wrong = replace(found, missing={"a": (), "b": (replace(one, values=-speeds, follows=None),)})
    assert "    b: differs much between trajectories and follows nothing: the term may have another form" in str(wrong)
    assert "b |b| for b" in str(wrong)
    assert "another form" not in str(found), "it follows z1"
    assert replace(one, values=-1 - 0.1 * speeds, follows=None).doubt == ""
    assert replace(one, values=-speeds[:2], follows=None).doubt == ""
    assert "such as" not in replace(one, term=Term((("a", 1), ("b", 1))), values=-speeds, follows=None).doubt


def test_many_terms_are_said_to_be_a_fit_and_no_law(asked, known):
    found = asked.explain(known[1])
    assert "to the learned residual" in str(found)
    assert "not a law" not in str(found)
    (one,) = found.missing["b"]
    many = tuple(replace(one, term=Term((("a", power),))) for power in range(1, 8))
    said = str(replace(found, missing={"a": (), "b": many}))
    assert "7 terms are a fit of what was seen, not a law" in said


def test_the_completed_physics_is_the_true_one(asked, known):
    _, data, k, damping = known
    physics = asked.explain(data).physics
    assert physics.complete == physics.states
    assert list(physics.params) == ["k", "c_b"]
    x = data.values[:, 5].float()
    theta = torch.stack([k, -damping], 1).float()
    right = torch.stack([x[:, 1], -k.float() * x[:, 0] - damping.float() * x[:, 1]], 1)
    torch.testing.assert_close(physics.evaluate(data.times[:, 5], x, theta), right)


def test_the_refitted_model_forecasts_by_the_formula_alone(asked, known):
    _, data, k, damping = known
    model = asked.explain(data).refit(data, data)
    history = data.first(15)
    forecast = model.forecast(history, data.times[:, 15:], draws=1)
    assert float((forecast.draws[0] - data.values[:, 15:]).abs().max()) < 2e-3
    posterior = model.infer(history, draws=1)
    torch.testing.assert_close(posterior.draws[0, :, 0].double(), k, atol=5e-3, rtol=0)
    torch.testing.assert_close(posterior.draws[0, :, 1].double(), -damping, atol=5e-3, rtol=0)
    assert 0.8 < model.record["validation_coverage"] < 0.97  # though all that errs is the solver


def test_the_refitted_model_does_not_know_what_the_model_knew_not_to_know(asked, known):
    _, data, _, _ = known
    asked.network.blind.fill_(0.2)
    refitted = asked.explain(data).refit(data, data)
    free = refitted.network.physics.free
    assert float(refitted.network.blind[free.index("k")]) == pytest.approx(0.2)
    assert float(refitted.network.blind[free.index("c_b")]) < 0.01


def test_terms_that_forecast_worse_than_what_they_were_read_from_are_called_a_fit(asked, known):
    _, data, _, _ = known
    explanation = asked.explain(data)
    wrong = replace(explanation, missing={"a": (), "b": ()}, error=1e-7)
    with pytest.warns(FitNotLawWarning, match="with an error of"):
        wrong.refit(data, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replace(explanation, error=1.0).refit(data, data)


def test_recordings_that_cannot_be_read_are_left_out(asked, known):
    """One ends before a window is full, one does not show a state in the end."""
    _, data, _, damping = known
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    times[3, 8:], values[3, 8:], mask[3, 8:] = torch.inf, 0.0, False
    mask[4, 15:, 1] = False
    torn = replace(data, times=times, values=values, mask=mask)
    explanation = asked.explain(torn)
    (one,) = explanation.missing["b"]
    left = [row for row in range(12) if row not in (3, 4)]
    torch.testing.assert_close(one.values, -damping[left], atol=0.01, rtol=0)
    assert explanation.refit(torn, data).record["validation_error"] < 1e-4


def test_what_may_not_be_missing_is_not_found(asked, known):
    (one,) = asked.explain(known[1], among=["a"]).missing["b"] or (None,)
    assert one is None or one.term != Term((("b", 1),))


def test_a_residual_of_no_size_has_no_terms(damped):
    network, data, _, _ = damped
    found = explain(GreyBox(network.physics, network), data)
    assert found.missing == {"a": (), "b": ()}
    assert "known" in str(found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"residual.composition": "multiplicative"}, "added"), ({"residual.sees_time": True}, "sees_time")],
)
def test_a_residual_that_no_sum_of_terms_can_be_is_refused(asked, known, changes, message):
    asked.network.settings = asked.network.settings.updated(changes)
    with pytest.raises(GreymatchError, match=message):
        asked.explain(known[1])


def test_wrong_arguments_say_what_is_right(asked, known):
    _, data, _, _ = known
    with pytest.raises(GreymatchError, match=r"among.*'c'"):
        asked.explain(data, among=["c"])
    with pytest.raises(GreymatchError, match="whole trajectories"):
        asked.explain(data.first(12))
    assert math.isfinite(asked.explain(replace(data, labels=data.labels[::-1])).fidelity["b"])
