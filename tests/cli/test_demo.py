from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import greymatch as gm
from greymatch.evaluation import Evaluation
from greymatch.report import build
from greymatch.systems import SYSTEMS, System

WORDS = ("--minutes", 0.002, "--draws", 2)


@pytest.fixture(scope="module")
def demo(greymatch, hurry, small_pendulum: System, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A demo with everything real, and how it ended."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patched, hurry():
        patched.setitem(SYSTEMS, "pendulum", small_pendulum)
        return folder, greymatch("demo", "--out", folder, *WORDS)


@pytest.fixture
def folder(demo: tuple[Path, Any], tmp_path: Path) -> Path:
    """A copy of what it left."""
    return shutil.copytree(demo[0], tmp_path / "demo")


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "write_report", lambda evaluation, path, **about: path)


def test_demo_leaves_everything_and_says_whether_it_won(demo) -> None:
    folder, done = demo
    result = json.loads((folder / "result.json").read_text())
    assert done.code == (0 if result["beats_references"] else 1)
    assert ("beat every reference" in done.out) == result["beats_references"]
    assert all(Path(path).exists() for path in result["files"].values())
    assert all(word in done.out for word in ("▶ vgb-dm", "hold", "physics only", "omega", "Share of the known physics"))
    assert "What was missing" in done.out
    assert result["missing"].splitlines()[0] in done.out
    assert "= known" in (folder / "report.html").read_text()
    errors = [scores["mse"] for scores in result["references"].values()]
    assert result["beats_references"] == (result["scores"]["mse"] < min(errors))


def test_what_it_leaves_can_be_read(demo) -> None:
    folder, _ = demo
    model, test = gm.load(folder / "model.safetensors"), gm.read(folder / "test.nc")
    forecast = gm.Forecast.from_dataset(xr.open_dataset(folder / "forecast.nc", engine="h5netcdf").load())
    assert model.settings.training.minutes == 0.002
    result = json.loads((folder / "result.json").read_text())
    assert gm.score(forecast, test).mse == pytest.approx(result["scores"]["mse"])


def test_a_second_demo_reuses_the_run_and_ends_with_0_if_it_won(
    greymatch, small_system, no_page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = json.loads((folder / "result.json").read_text())
    monkeypatch.setattr(Evaluation, "beats_references", True)
    done = greymatch("demo", "--out", folder, *WORDS, "--json")
    assert done.code == 0
    assert done.json["scores"] == before["scores"]


def test_other_settings_are_refused_unless_it_starts_over(greymatch, small_system, no_page, folder: Path) -> None:
    words = ("demo", "--out", folder, *WORDS, "--seed", 1, "--json")
    refused = greymatch(*words)
    assert refused.code == 2
    assert "--fresh" in refused.json["error"]
    assert greymatch(*words, "--fresh").code in (0, 1)
    assert gm.load(folder / "model.safetensors").settings.training.seed == 1
