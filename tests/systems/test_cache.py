from __future__ import annotations

from pathlib import Path

import pytest
import torch

from greymatch.systems import pendulum
from greymatch.systems.cache import cache_folder, cached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GREYMATCH_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


class Maker:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> dict[str, torch.Tensor]:
        self.calls += 1
        return {"values": torch.arange(3.0)}


def test_made_once_for_one_recipe_and_anew_for_another(folder: Path):
    make = Maker()
    for recipe in ("a", "a", "b", "a"):
        assert torch.equal(cached("x", recipe, make)["values"], torch.arange(3.0))
    assert make.calls == 2
    assert len(list(folder.iterdir())) == 2


def test_a_spoiled_file_is_made_anew(folder: Path):
    make = Maker()
    cached("x", "a", make)
    next(folder.iterdir()).write_bytes(b"spoiled")
    cached("x", "a", make)
    cached("x", "a", make)
    assert make.calls == 2


def test_a_folder_that_cannot_be_made_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GREYMATCH_CACHE", str(tmp_path / "file" / "kept"))
    make = Maker()
    cached("x", "a", make)
    cached("x", "a", make)
    assert make.calls == 2


def test_nothing_is_kept_where_the_cache_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GREYMATCH_CACHE", "")
    assert cache_folder() is None
    make = Maker()
    cached("x", "a", make)
    assert make.calls == 1


def test_the_users_cache_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GREYMATCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "greymatch"


def test_data_from_the_cache_are_those_simulated(folder: Path):
    made = pendulum.data("test", trajectories=4)
    kept = pendulum.data("test", trajectories=4)
    assert torch.equal(made.values, kept.values)
    assert made.truth.keys() == kept.truth.keys()
    assert len(list(folder.iterdir())) == 1
    pendulum.data("test", trajectories=4, seed=9)
    assert len(list(folder.iterdir())) == 2
