"""What a model says was missing, judged by the truth: terms, coefficients, and the model refitted with them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from greymatch.bench.history import short
from greymatch.bench.splits import digests, fresh_of

if TYPE_CHECKING:
    from greymatch.bench.plan import Run
    from greymatch.bench.splits import Splits
    from greymatch.data.trajectories import Trajectories
    from greymatch.explain import Explanation
    from greymatch.models.greybox import GreyBox
    from greymatch.systems.system import System

FIELDS = 20  # that are forecast and asked as wholes, so that this does not take longer than learning them
FRESH = 1000  # trajectories, by which coverage is known to 1 %; by the hundred of a test split to 3 %
LEVEL = 0.9


def explained(model: GreyBox, data: Splits, system: System, run: Run) -> dict[str, Any]:
    """The explanation of `model` by the training split, and the refitted model beside it on the test split."""
    began = time.monotonic()
    explanation = model.explain(data.train)
    refitted = explanation.refit(data.train, data.val)
    seconds = time.monotonic() - began
    some = slice(0, FIELDS if data.test.grid else None)
    test, models = data.test.select(some), {"network": model, "refitted": refitted}
    asked = {"once": data.truth.select(some)} | _longer(data, system, run, some)
    return {
        "text": str(explanation),
        "seconds": round(seconds, 1),
        "trajectories": len(test),
        **terms(explanation, refitted, test, system),
        "fidelity": {state: short(one) for state, one in explanation.fidelity.items() if explanation.missing[state]},
        "forecasts": _forecasts(models, test, asked, system, run),
        "parameters": _parameters(models, data.test, system, run),
        **judged_more(models, system, run),
    }


def _forecasts(
    models: Mapping[str, GreyBox], test: Trajectories, asked: Mapping[str, Trajectories], system: System, run: Run
) -> dict[str, Any]:
    return {name: forecasts(one, test, asked, system.given, run) for name, one in models.items()}


def _parameters(models: Mapping[str, GreyBox], test: Trajectories, system: System, run: Run) -> dict[str, Any]:
    return {name: parameters(one, test, system.given, run.seed) for name, one in models.items()}


def judged_more(models: Mapping[str, GreyBox], system: System, run: Run) -> dict[str, Any]:
    """The same by many trajectories that are drawn as those of the test split; of fields that would take too long, and
    what was read from a file nobody can draw."""
    if system.physics.grid or "test" in digests(run.data):
        return {}
    test, truth = fresh_of(run, FRESH)
    found = {
        "forecasts": _forecasts(models, test, {"once": truth}, system, run),
        "parameters": _parameters(models, test, system, run),
    }
    return {"fresh": {"trajectories": FRESH, **found}}


def _longer(data: Splits, system: System, run: Run, some: slice) -> dict[str, Trajectories]:
    """The test split with twice as much to forecast; of one that was read from a file nobody knows how it goes on."""
    if "test" in digests(run.data):
        return {}
    points = 2 * data.test.times.shape[1] - system.given
    return {"twice": system.data("test", points=points).select(slice(0, len(data.test))).select(some)}


def terms(explanation: Explanation, refitted: GreyBox, test: Trajectories, system: System) -> dict[str, Any]:
    """Which terms were found, and how far the coefficient of each test trajectory is off in the median."""
    found = {
        state: {one.term.text: explanation.names[state, one.term] for one in ones}
        for state, ones in explanation.missing.items()
        if ones
    }
    right = {state: set(ones) for state, ones in found.items()} == {
        state: set(ones) for state, ones in system.missing.items()
    }
    values = refitted.infer(test, whole=True).mean() if refitted.network.physics.free else {}
    return {
        "right": right,
        "terms": {
            state: {text: _coefficient(values[name].values, state, text, test, system) for text, name in ones.items()}
            for state, ones in found.items()
        },
    }


def _coefficient(values: np.ndarray, state: str, text: str, test: Trajectories, system: System) -> dict[str, Any]:
    true = system.missing.get(state, {}).get(text)
    told = {"median": short(float(np.median(values)))}
    if true is None or not _known(test.truth, system):
        return told
    truth = np.broadcast_to(true(test.truth), values.shape)
    return told | {"error": short(float(np.median(np.abs(values - truth) / np.abs(truth))))}


def _known(truth: Mapping[str, np.ndarray], system: System) -> bool:
    return all(name in truth for name in system.truth.params)


def forecasts(
    model: GreyBox, test: Trajectories, truths: Mapping[str, Trajectories], given: int, run: Run
) -> dict[str, dict[str, Any]]:
    """From the first points of `test` to the end of each truth: one forecast to the end of the last."""
    from greymatch.forecast.scores import score

    longest = max(truths.values(), key=lambda truth: truth.times.shape[1])
    history = replace(test.first(given), inputs=longest.inputs)
    forecast = model.forecast(history, longest.times[:, given:], draws=run.members, seed=run.seed)
    found = {horizon: score(forecast, truth, LEVEL) for horizon, truth in truths.items()}
    return {
        horizon: {"mse": one.mse, "coverage": one.coverage, "lost": len(one.lost)} for horizon, one in found.items()
    }


def parameters(model: GreyBox, test: Trajectories, given: int, seed: int) -> dict[str, Any]:
    """Those whose truth is known, from the history alone."""
    from greymatch.evaluation import judged_parameters

    free = model.network.physics.free
    return judged_parameters(model, test, model.infer(test.first(given), seed=seed)) if free else {}
