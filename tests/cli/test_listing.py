"""`systems`, `settings` and `data`."""

from __future__ import annotations

from pathlib import Path

import pytest

import greymatch as gm
from greymatch.settings import Settings
from greymatch.settings_tree import known_keys
from greymatch.systems import SYSTEMS


def test_systems_tells_what_is_known_and_how_much_data(greymatch) -> None:
    done = greymatch("systems")
    assert done.code == 0
    assert all(word in done.out for word in ("pendulum", "angle''", "train 1000 x 200"))


def test_systems_as_json(greymatch) -> None:
    found = {one["name"]: one for one in greymatch("systems", "--json").json["systems"]}
    assert list(found) == list(SYSTEMS)
    assert found["pendulum"]["splits"]["test"] == [100, 200]


def test_settings_lists_every_key_with_the_default_that_holds(greymatch) -> None:
    found = greymatch("settings", "--json").json["settings"]
    assert list(found) == list(known_keys(Settings))
    defaults = {key: row["default"] for key, row in found.items() if row["default"] is not None}
    assert Settings().updated(defaults) == Settings()
    assert found["residual.kind"]["choices"] == ["mlp", "conv", "polynomial"]


def test_settings_for_people(greymatch) -> None:
    done = greymatch("settings")
    assert all(key in done.out for key in known_keys(Settings))


@pytest.mark.parametrize("suffix", [".nc", ".parquet", ".zarr"])
def test_data_writes_what_the_system_makes(greymatch, small_system, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"test{suffix}"
    done = greymatch("data", "pendulum", "--split", "val", "--seed", 7, "--trajectories", 3, "--out", path, "--json")
    assert (done.code, done.json["trajectories"]) == (0, 3)
    found, made = gm.read(path), small_system.data("val", seed=7, trajectories=3)
    assert found.values.numpy() == pytest.approx(made.values.numpy())
    assert found.truth["omega"] == pytest.approx(made.truth["omega"])


def test_data_warns_of_what_a_csv_cannot_hold(greymatch, small_system, tmp_path: Path) -> None:
    done = greymatch("data", "pendulum", "--out", tmp_path / "test.csv")
    assert done.code == 0
    assert "warning: .csv holds no truth" in done.err
    assert greymatch("data", "pendulum", "--out", tmp_path / "test.csv", "--quiet").err == ""


@pytest.mark.parametrize(("words", "told"), [(["--split", "tset"], "'test'"), (["--trajectories", 0], "at least 1")])
def test_data_refuses(greymatch, tmp_path: Path, words: list, told: str) -> None:
    done = greymatch("data", "pendulum", *words, "--out", tmp_path / "a.nc")
    assert done.code == 2
    assert told in done.err


def test_data_refuses_a_file_of_another_kind_before_any_work(greymatch, tmp_path: Path) -> None:
    done = greymatch("data", "pendulum", "--out", tmp_path / "a.xlsx")
    assert done.code == 2
    assert "`--out` must end in .nc" in done.err
