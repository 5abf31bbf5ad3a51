from __future__ import annotations

import json
from pathlib import Path

import pytest

from greymatch.bench.plan import DRAWS, GRID_DRAWS, Run, system_named
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
    run = Run(
        "pendulum",
        "vbb-dm",
        7,
        {"training.steps": 5, "training.minutes": None},
        3,
        "n9",
        train=9,
        val=5,
        test=4,
        data=Path("a"),
        noise=0.05,
        explain=True,
    )
    parsed = vars(_parser().parse_args([*run.arguments(), "--out", "a.json"]))
    assert Run(**{key: parsed[key] for key in vars(run)} | {"changes": json.loads(parsed["changes"])}) == run


def test_noise_is_asked_for_only_where_there_is_some() -> None:
    assert "noise" not in Run("pendulum", "gb-dm", 0).asked()
    assert Run("pendulum", "gb-dm", 0, noise=0.1).asked()["noise"] == 0.1


def test_names_tell_variants_and_given_data_apart() -> None:
    assert Run("rlc", "tfm", 1).name == "rlc-tfm-1"
    assert Run("rlc", "tfm", 1, label="n50").name == "rlc-tfm-n50-1"
    assert Run("rlc", "gb-dm", 1, explain=True).name == "rlc-gb-dm-explain-1"
    assert Run("rlc", "tfm", 1, label="n50", data=Path("a")).name == "rlc-tfm-n50-data-1"


def test_a_field_gets_fewer_draws_unless_they_are_stated() -> None:
    assert Run("pendulum", "vgb-dm", 0).members == DRAWS
    assert Run("reaction_diffusion", "vgb-dm", 0).members == GRID_DRAWS < DRAWS
    assert Run("reaction_diffusion", "vgb-dm", 0, draws=7).members == 7


@pytest.mark.parametrize(
    "run", [Run("pendulm", "gb-dm", 0), Run("pendulum", "gb", 0), Run("pendulum", "gb-dm", 0, {"a": 1})]
)
def test_what_is_not_known_is_refused(run: Run) -> None:
    with pytest.raises(GreymatchError):
        run.settings()


def test_system_named_suggests() -> None:
    with pytest.raises(GreymatchError, match="Did you mean 'pendulum'"):
        system_named("pendulm")
