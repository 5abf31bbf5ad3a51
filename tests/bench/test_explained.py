from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import greymatch.bench.explained as module
from greymatch.bench.explained import explained, forecasts, judged_more, parameters, terms
from greymatch.bench.plan import Run
from greymatch.bench.splits import Splits, fresh_of
from greymatch.data.write import write
from greymatch.systems import pendulum
from greymatch.systems.system import Split, System

RUN = Run("pendulum", "vgb-dm", 0, draws=2)


@pytest.fixture
def system(known: Any) -> System:
    """b' = -k a - d b, of which the damping is missing."""
    times = known[1].times[0].numpy()
    return replace(
        pendulum,
        physics=known[0].physics,
        truth=replace(known[0].physics, params={"k": known[0].physics.params["k"], "d": pendulum.truth.params["xi"]}),
        splits={"test": Split(12, times, 1)},
        given=15,
        missing={"b": {"b": lambda p: -p["d"]}},
    )


@pytest.fixture
def splits(known: Any) -> Splits:
    _, data, k, damping = known
    data = replace(data, truth={"k": k.numpy(), "d": damping.numpy()})
    return Splits(data, data, data, data)


@pytest.fixture
def given(splits: Splits, tmp_path: Path) -> Run:
    """A run whose test split is a file, which does not go on."""
    write(splits.test, tmp_path / "test.nc")
    return replace(RUN, data=tmp_path)


def test_the_right_term_is_told_with_its_error(asked, system: System, splits: Splits, given: Run) -> None:
    found = explained(asked, splits, system, given)
    assert found["right"]
    assert found["terms"].keys() == {"b"}
    assert found["terms"]["b"]["b"]["error"] < 0.01
    assert found["terms"]["b"]["b"]["median"] == pytest.approx(-float(np.median(splits.test.truth["d"])), abs=0.01)
    assert found["fidelity"] == {"b": pytest.approx(1.0, abs=1e-3)}
    assert found["parameters"]["refitted"]["k"]["rmse"] < 0.01 * found["parameters"]["refitted"]["k"]["prior_rmse"]
    assert found["forecasts"]["refitted"].keys() == {"once"}
    assert found["forecasts"]["refitted"]["once"]["mse"] < 1e-5
    assert "fresh" not in found  # nobody knows how to draw more of a file


def test_another_term_is_not_right_and_has_no_error(asked, system: System, splits: Splits) -> None:
    explanation = asked.explain(splits.train)
    refitted = explanation.refit(splits.train, splits.val)
    found = terms(explanation, refitted, splits.test, replace(system, missing={"b": {"a": lambda p: -p["d"]}}))
    assert not found["right"]
    assert found["terms"]["b"]["b"].keys() == {"median"}


def test_forecasts_go_as_far_as_the_truth_does(small_model, swings) -> None:
    test = swings[1]
    found = forecasts(small_model, test, {"once": test.first(12), "twice": test}, 10, RUN)
    assert 0 < found["once"]["mse"] < found["twice"]["mse"]
    assert found["twice"]["lost"] == 0
    alone = forecasts(small_model, test, {"once": test.first(12)}, 10, RUN)
    assert alone["once"]["mse"] == pytest.approx(found["once"]["mse"], rel=0.05)  # both near the tolerance


def test_coverage_is_told_of_many_more_trajectories(small_model, small_system: System, monkeypatch) -> None:
    monkeypatch.setattr(module, "FRESH", 40)
    found = judged_more({"network": small_model}, small_system, RUN)["fresh"]
    seen, truth = fresh_of(RUN, 40)
    assert found["trajectories"] == len(seen)
    assert found["parameters"]["network"] == parameters(small_model, seen, small_system.given, RUN.seed)
    assert found["forecasts"]["network"] == forecasts(small_model, seen, {"once": truth}, small_system.given, RUN)
