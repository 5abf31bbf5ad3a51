from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from greymatch.bench.speed import fitted, forecasting, scaling, training
from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.suite import PARTS, checked_parts, measure
from greymatch.cli.bench.speed import ALL
from greymatch.errors import GreymatchError

# what is measured is all run, with fewer and less of it
SMALLER: dict[ModuleType, dict[str, Any]] = {
    training: {"FIELDS": 3},
    fitted: {"TRAJECTORIES": 12, "VALIDATION": 4},
    forecasting: {"TOLERANCES": [1e-4, 1e-5]},
    scaling: {"TRAJECTORIES": 2, "DRAWS": 4, "TIMES": 8},
}


def test_the_command_offers_every_part() -> None:
    assert list(PARTS) == list(ALL)


def test_parts_that_are_not_there_are_refused() -> None:
    assert checked_parts(["reading", "training"]) == ["training", "reading"]
    with pytest.raises(GreymatchError, match="Did you mean 'training'"):
        checked_parts(["trainin"])


@pytest.mark.slow
@pytest.mark.usefixtures("roughly")
def test_every_part_that_needs_a_model_runs(tiny: Sizes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "GOALS", {"lorenz": 6.0})  # a field is trained on among the convolutions
    monkeypatch.setattr(training, "WIDE", {"residual.kernel": 3, "training.batch": 2, "residual.width": 4})
    for module, changes in SMALLER.items():
        for name, value in changes.items():
            monkeypatch.setattr(module, name, value)
    parts = [list(measure(part, tiny))[-1] for part in ("training", "convolutions", "forecast", "scaling")]
    found = [one for part in parts for one in part.measured]
    cases = [one.case for one in found]
    assert "lorenz, encoding" in cases
    assert "lorenz, whole fit" in cases
    assert any(case.startswith("reaction_diffusion") for case in cases)
    assert any("4 draws x 5 trajectories x 174 times" in case for case in cases)
    assert [curve.axis for curve in parts[-1].curves] == ["trajectories", "draws", "horizon", "states"]
    assert all(seconds > 0 for one in found for seconds in (*one.ours, *one.plain))


def test_what_forecasts_are_compared_with_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert checked_parts(["reading"]) == ["reading"]
    with pytest.raises(GreymatchError, match=r"greymatch\[bench\]"):
        checked_parts(["forecast"])
