from __future__ import annotations

import json
from pathlib import Path

import pytest

TINY = (
    "net.width=4",
    "net.source_width=4",
    "net.depth=1",
    "net.latents=4",
    "training.steps=2",
    "training.batch=2",
    "training.validations=1",
    "solving.steps=2",
)
CHANGES = [word for change in TINY for word in ("--set", change)]
QUICK = ("--every", 400, "--days", 1, "--no-cost")


@pytest.fixture(scope="session")
def benched(greymatch, atmosphere: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench")
    done = greymatch("weather", "bench", "--data", atmosphere, "--out", out, *QUICK, *CHANGES, "-q")
    assert done.code == 0, done.err
    return out


def test_every_method_and_reference_has_all_cells(benched: Path) -> None:
    found = json.loads((benched / "weather.json").read_text())
    names = {"vgb-dm", "black-box", "climode", "persistence", "damped", "climatology"}
    assert {row["forecast"] for row in found["rmse"]} == names
    for score in ("rmse", "acc"):
        cells = [row[str(lead)]["mean"] for row in found[score] for lead in range(6, 43, 6)]
        assert len(cells) == 35 * len(names)
        assert None not in cells
    assert {row["forecast"]: row["rmse"].split()[-1] for row in found["cells"]}["climode"] == "35"


def test_tables_and_pictures_are_there(benched: Path) -> None:
    assert {path.name for path in benched.iterdir() if path.is_file()} == {
        *("weather.json", "weather.md"),
        *("rmse.csv", "acc.csv", "cells.csv", "facts.csv"),
        *("rmse.png", "acc.png", "errors.png", "spectra.png"),
    }


def test_runs_are_not_done_again_and_long_forecasts_added_to_one_that_has_none(
    greymatch, benched: Path, atmosphere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greymatch.weather.bench.write.save", lambda *_: None)  # pictures are there, and take longest
    runs = {path: path.stat().st_mtime_ns for path in (benched / "runs").rglob("*.*") if path.is_file()}
    path = benched / "runs" / "vgb-dm-0.json"
    result = json.loads(path.read_text())
    path.write_text(json.dumps(result | {"stability": None}))
    done = greymatch("weather", "bench", "--data", atmosphere, "--out", benched, *QUICK, *CHANGES, "-q")
    assert done.code == 0, done.err
    assert json.loads(path.read_text()) == result
    del runs[path]
    assert len(runs) > 3
    assert {path: path.stat().st_mtime_ns for path in runs} == runs


def test_results_of_other_settings_are_refused(greymatch, benched: Path, atmosphere: Path) -> None:
    other = [word.replace("training.batch=2", "training.batch=3") for word in CHANGES]
    done = greymatch("weather", "bench", "--data", atmosphere, "--out", benched, *QUICK, *other, "-q")
    assert done.code == 2
    assert "settings differ" in done.err


def test_an_unknown_method_is_refused(greymatch, atmosphere: Path, tmp_path: Path) -> None:
    done = greymatch("weather", "bench", "--data", atmosphere, "--out", tmp_path, "--methods", "magic")
    assert done.code == 2
    assert "must be among vgb-dm, black-box, climode; got 'magic'" in done.err
