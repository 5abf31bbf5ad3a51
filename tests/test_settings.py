from __future__ import annotations

import json
from typing import Any

import pytest

from greymatch.errors import GreymatchError
from greymatch.settings import Settings
from greymatch.settings_tree import known_keys
from greymatch.training.fit import DEFAULT_MINUTES


def test_dotted_keys_and_nested_sections_change_the_same_thing():
    dotted = Settings().updated({"residual.width": 7, "training.minutes": 2, "window": 9})
    nested = Settings().updated({"residual": {"width": 7}, "training": {"minutes": 2}, "window": 9})
    assert dotted == nested
    assert (dotted.residual.width, dotted.training.minutes, dotted.window) == (7, 2.0, 9)


def test_the_original_stays_and_what_is_not_named_stays():
    before = Settings(window=11)
    after = before.updated({"encoder.kind": "gru"})
    assert before.encoder.kind == "mlp"
    assert after.window == 11
    assert after.residual == before.residual


def test_settings_are_frozen_at_every_level():
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.window = 3
    with pytest.raises(ValueError, match="frozen"):
        settings.training.steps = 3


def test_settings_survive_json():
    settings = Settings().updated({"matching.horizon": 0.1 + 0.2, "training.patience": 3, "residual.sees_time": True})
    assert Settings(**json.loads(json.dumps(settings.model_dump()))) == settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"residual.widht": 3}, r"unknown setting 'residual.widht'. Did you mean 'residual.width'\?"),
        ({"rate": 3}, r"unknown setting 'rate'. Did you mean 'training.rate'\?"),
        ({"training": {"stepps": 3}}, r"unknown setting 'training.stepps'. Did you mean 'training.steps'\?"),
        ({"zzz": 3}, r"unknown setting 'zzz'\. `greymatch settings`"),
        ({"window": 1}, "setting 'window': .*greater than or equal to 2; got 1"),
        ({"training.steps": "many"}, "setting 'training.steps': .*integer.*; got 'many'"),
        ({"training.rate": float("nan")}, "setting 'training.rate': .*; got nan"),
        ({"training.steps": 2.5}, "setting 'training.steps': .*; got 2.5"),
        ({"encoder.kind": "transformer"}, "setting 'encoder.kind': .*'mlp', 'gru' or 'conv'; got 'transformer'"),
        ({"shortest": 40}, r"^setting 'shortest' must not exceed 'window' = 26; got 40\.$"),
        ({"training.parts": 0}, "setting 'training.parts': .*greater than or equal to 1; got 0"),
        (
            {"training.batch": 12, "training.parts": 5},
            r"^setting 'training.parts' must divide 'training.batch' = 12; got 5\. Set 4, for instance\.$",
        ),
        (
            {"training": {"batch": 2, "parts": 8}},
            r"^setting 'training.parts' must divide 'training.batch' = 2; got 8\. Set 2, for instance\.$",
        ),
        ({"training.warmup": 1.0}, "setting 'training.warmup': .*less than 1; got 1.0"),
    ],
)
def test_a_wrong_setting_names_the_key_the_rule_and_the_value(changes: dict[str, Any], message: str):
    with pytest.raises(GreymatchError, match=message):
        Settings().updated(changes)


def test_settings_made_directly_are_checked_alike():
    with pytest.raises(GreymatchError, match=r"setting 'window': .*; got 1"):
        Settings(window=1)
    misspelt: dict[str, Any] = {"windw": 9}
    with pytest.raises(GreymatchError, match=r"unknown setting 'windw'\. Did you mean 'window'\?"):
        Settings(**misspelt)
    with pytest.raises(GreymatchError, match="'shortest' must not exceed 'window' = 5; got 6"):
        Settings(window=5, shortest=6)


@pytest.mark.parametrize(("window", "shortest"), [(26, 5), (26, 26), (2, 2), (3, 2), (100, 2)])
def test_lengths_fall_from_the_window_to_the_shortest(window: int, shortest: int):
    lengths = Settings(window=window, shortest=shortest).lengths
    assert (lengths[0], lengths[-1]) == (window, shortest)
    assert list(lengths) == sorted(set(lengths), reverse=True)
    assert Settings(window=window).lengths == (window,)


def test_all_wrong_settings_are_told_at_once():
    with pytest.raises(GreymatchError) as caught:
        Settings().updated({"window": 0, "training.batch": 0})
    assert [line.split("'")[1] for line in str(caught.value).splitlines()] == ["window", "training.batch"]


def test_an_unknown_key_in_a_stored_tree_is_refused():
    tree = Settings().model_dump()
    tree["encoder"]["heads"] = 3
    with pytest.raises(GreymatchError, match=r"unknown setting 'encoder.heads'"):
        Settings(**tree)


def test_text_from_a_command_line_is_understood():
    settings = Settings().updated({"window": "12", "training.minutes": "0.5", "residual.sees_time": "true"})
    assert (settings.window, settings.training.minutes, settings.residual.sees_time) == (12, 0.5, True)


def test_known_keys_are_those_of_the_settings():
    def leaves(tree: dict[str, Any], prefix: str = "") -> set[str]:
        nested = [leaves(v, f"{prefix}{k}.") if isinstance(v, dict) else {prefix + k} for k, v in tree.items()]
        return set().union(*nested)

    assert set(known_keys(Settings)) == leaves(Settings().model_dump())


def test_the_default_budget_is_the_one_described():
    assert f"(default {DEFAULT_MINUTES:g})" in known_keys(Settings)["training.minutes"]


def test_noise_is_estimated_one_number_or_one_for_each_state():
    assert Settings().data.noise == "auto"
    assert Settings().updated({"data.noise": 0}).data.noise == 0
    assert Settings().updated({"data": {"noise": {"angle": 0.1}}}).data.noise == {"angle": 0.1}
    both = Settings().updated({"data.noise.angle": 0.1}).updated({"data.noise.level": 2})
    assert both.data.noise == {"angle": 0.1, "level": 2.0}
    assert both.updated({"data.noise": "auto"}).data.noise == "auto"
    assert Settings(**json.loads(json.dumps(both.model_dump()))) == both


@pytest.mark.parametrize("noise", [-1, "loud", {"angle": -0.1}])
def test_noise_that_cannot_be_is_refused(noise: object):
    with pytest.raises(GreymatchError, match=r"data\.noise"):
        Settings().updated({"data.noise": noise})
