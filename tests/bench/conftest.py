from __future__ import annotations

from dataclasses import replace

import pytest

from greymatch.settings import Settings
from greymatch.systems import SYSTEMS, Split, System, pendulum


@pytest.fixture
def small_system(small_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> System:
    """The pendulum with few and short trajectories and a few steps of training."""
    times = pendulum.splits["test"].times[:40]
    splits = {name: Split(12, times, pendulum.splits[name].seed) for name in ("train", "val", "test")}
    preset = small_settings.updated({"training.steps": 5, "training.validations": 1})
    small = replace(pendulum, splits=splits, given=10, preset=preset)
    monkeypatch.setitem(SYSTEMS, "pendulum", small)
    return small
