from __future__ import annotations

import pytest

from greymatch.bench.plan import Run, system_named
from greymatch.bench.run import _parser
from greymatch.errors import GreymatchError
from greymatch.systems import pendulum


def test_settings_are_the_presets_with_the_changes_on_top() -> None:
    settings = Run("pendulum", "gb-dm", 3, {"residual.width": 8}).settings()
    assert (settings.method, settings.training.seed, settings.residual.width) == ("gb-dm", 3, 8)
    assert settings.encoder == pendulum.preset.encoder


def test_the_budget_is_always_stated() -> None:
    assert Run("pendulum", "gb-dm", 0).settings().training.minutes is not None
    assert Run("pendulum", "gb-dm", 0, {"training.steps": 5}).settings().training.minutes is None


def test_arguments_make_the_same_run() -> None:
    run = Run("pendulum", "vbb-dm", 7, {"training.steps": 5, "training.minutes": None}, 3, 9)
    parsed = vars(_parser().parse_args([*run.arguments(), "--out", "a.json"]))
    assert (parsed["method"], parsed["seed"], parsed["draws"], parsed["trajectories"]) == ("vbb-dm", 7, 3, 9)
    assert parsed["changes"] == '{"training.steps": 5, "training.minutes": null}'


@pytest.mark.parametrize(
    "run", [Run("pendulm", "gb-dm", 0), Run("pendulum", "gb", 0), Run("pendulum", "gb-dm", 0, {"a": 1})]
)
def test_what_is_not_known_is_refused(run: Run) -> None:
    with pytest.raises(GreymatchError):
        run.settings()


def test_system_named_suggests() -> None:
    with pytest.raises(GreymatchError, match="Did you mean 'pendulum'"):
        system_named("pendulm")
