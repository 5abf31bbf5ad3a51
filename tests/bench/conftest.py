from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from greymatch.settings import Settings
from greymatch.systems import SYSTEMS, Split, System, pendulum

MakeResult = Callable[..., dict[str, Any]]


@pytest.fixture
def small_system(small_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> System:
    """The pendulum with few and short trajectories and a few steps of training."""
    times = pendulum.splits["test"].times[:40]
    splits = {name: Split(12, times, pendulum.splits[name].seed) for name in ("train", "val", "test")}
    preset = small_settings.updated({"training.steps": 5, "training.validations": 1, "residual.products": 0})
    small = replace(pendulum, splits=splits, given=10, preset=preset)
    monkeypatch.setitem(SYSTEMS, "pendulum", small)
    return small


@pytest.fixture
def result() -> MakeResult:
    """`result("vgb-dm", mse, system=..., ...)`: what a run leaves, with numbers of the test's choosing."""
    return _result


@pytest.fixture
def told() -> MakeResult:
    """`told(mse, right=..., error=..., twice=...)`: what was explained and refitted, the net four times worse."""
    return _told


def _told(mse: float, right: bool = True, error: float = 0.01, twice: bool = True) -> dict[str, Any]:
    horizons = ("once", "twice") if twice else ("once",)
    return {
        "right": right,
        "terms": {"angle": {"angle_dot": {"median": -1.0, "error": error}, "angle": {"median": 0.1}}},
        "fidelity": {"angle": 0.99},
        "forecasts": {
            "network": {name: {"mse": 4 * mse, "coverage": 0.9} for name in horizons},
            "refitted": {name: {"mse": mse, "coverage": 0.88} for name in horizons},
        },
        "parameters": {
            "network": {"omega": {"rmse": 0.2, "prior_rmse": 0.4, "coverage": 0.8}},
            "refitted": {"omega": {"rmse": 0.02, "prior_rmse": 0.4, "coverage": 0.9}},
        },
    }


def _result(method: str, mse: float | None, **more: Any) -> dict[str, Any]:
    grey = method != "vbb-dm"
    parameter = {"rmse": 0.34, "prior_rmse": 0.68, "coverage": 0.9}
    steady = {"cv": 0.01, "rmse": 0.068, "prior_rmse": 0.68, "spread": 0.35, "windows": 16, "trajectories": 100}
    terms = {"velocity_error": 1e-4, "matching": 13.0, "kl_theta": 4.0, "kl_z": 2.0}
    found = {
        "system": "pendulum",
        "method": method,
        "label": "",
        "seed": 0,
        "data": {},
        "draws": 100,
        "machine": {"threads": 1},
        "trajectories": {"train": 1000, "val": 250, "test": 100},
        "scores": {"mse": mse, "nmse": mse, "crps": 0.1, "coverage": 0.9},
        "central": {"mse": 2.0},
        "training_seconds": 10.0,
        "windows_per_second": 5000.0,
        "validation_error": 0.5,
        "weights": {"encoder": 4, "field": 3, "total": 7},
        "parameters": {"omega": parameter} if grey else {},
        "consistency": {"omega": steady} if grey else {},
        "explanation": _told(1.0),
        "curve": {"seconds": [1.0, 2.0, 4.0], "step": [10, 20, 40], "mse": [0.1, 0.01, 0.001]},
        "terms": {"seconds": [1.0, 2.0], "curve": {name: [1.0, last] for name, last in terms.items()}},
        "references": {"hold": {"mse": 3.0, "nmse": 3.0, "crps": 1.0}, "zero": {"mse": 0.1, "nmse": 1.0, "crps": 0.2}},
    }
    return copy.deepcopy({**found, **more})
