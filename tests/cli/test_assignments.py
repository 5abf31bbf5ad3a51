from __future__ import annotations

from pathlib import Path

import pytest

from greymatch.cli.assignments import assignments, chosen, config, with_budget
from greymatch.errors import GreymatchError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=3", 3),
        ("k=-1e-3", -1e-3),
        ("k=true", True),
        ('k="a b"', "a b"),
        ("k='3'", "3"),
        ("k=gb-dm", "gb-dm"),
        ("k=lagrange-5", "lagrange-5"),
        ("k=none", None),
        (" k = 3 ", 3),
        ("k=1_000", 1000),
    ],
)
def test_values_are_toml_scalars_or_bare_words(text: str, value: object) -> None:
    found = assignments([text])
    assert found == {"k": value}
    assert type(found["k"]) is type(value)


@pytest.mark.parametrize("text", ["k", "=3", "k=", "k=[1, 2]", "k={a = 1}", "k=1 2", "k=3\nother=4", "k=$(x)"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(GreymatchError, match="`--set"):
        assignments([text])


def test_a_key_stands_once() -> None:
    with pytest.raises(GreymatchError, match="stands twice"):
        assignments(["a.b=1", "a.b=1"])
    with pytest.raises(GreymatchError, match="--minutes say the same"):
        chosen(["training.minutes=1"], training__minutes=2.0)


def test_options_not_given_are_no_changes() -> None:
    assert chosen(["a=1"], method=None, training__seed=0) == {"a": 1, "training.seed": 0}


def test_a_budget_replaces_the_whole_budget() -> None:
    assert with_budget({"training.steps": 5}) == {"training.steps": 5, "training.minutes": None}
    assert with_budget({"method": "gb-dm"}) == {"method": "gb-dm"}
    both = {"training.steps": 5, "training.minutes": 1.0}
    assert with_budget(both) == both


def test_config_is_toml(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('method = "gb-dm"\n[training]\nsteps = 5\n')
    assert config(path) == {"method": "gb-dm", "training": {"steps": 5}}
    assert config(None) == {}


@pytest.mark.parametrize("content", ["a = ", "\xff"])
def test_config_that_cannot_be_read_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(GreymatchError, match=r"settings\.toml"):
        config(path)
    with pytest.raises(GreymatchError, match=r"none\.toml"):
        config(tmp_path / "none.toml")
