from __future__ import annotations

from pathlib import Path

import pytest

from greymatch.weather import load, read, read_forecasts, start_dates


def test_training_leaves_a_model_and_its_metrics(trained: Path) -> None:
    assert load(trained).network.settings.method == "vgb-dm"
    assert (trained.parent / "metrics.jsonl").read_text().count("\n") >= 1


def test_a_run_is_not_overwritten(greymatch, trained: Path, atmosphere: Path) -> None:
    done = greymatch("weather", "train", "--data", atmosphere, "--out", trained.parent, "--steps", 3)
    assert done.code == 2
    assert "holds a run already" in done.err


def test_a_setting_that_is_not_there_is_named(greymatch, atmosphere: Path, tmp_path: Path) -> None:
    done = greymatch("weather", "train", "--data", atmosphere, "--out", tmp_path / "a", "--set", "net.widht=4")
    assert done.code == 2
    assert "Did you mean 'net.width'?" in done.err


def test_forecasts_are_kept_as_weatherbench_2_reads_them(
    greymatch, trained: Path, atmosphere: Path, tmp_path: Path
) -> None:
    store = tmp_path / "found.zarr"
    words = ("--years", "2017", "--every", 400, "--leads", 12, "--out", store, "--json")
    done = greymatch("weather", "forecast", trained, "--data", atmosphere, *words)
    assert done.code == 0, done.err
    test = read(atmosphere, years=(2017, 2017))
    starts = start_dates(test, [6, 12], 400)
    found = read_forecasts(store, test.names)(starts)
    assert found.sizes["time"] == done.json["starts"] == 4
    assert found["lead"].values.tolist() == [6, 12]


def test_scores_stand_beside_those_of_the_references(greymatch, trained: Path, atmosphere: Path) -> None:
    words = ("--years", "2017", "--every", 200, "--leads", 12, "--days", 1)
    done = greymatch("weather", "evaluate", trained, "--data", atmosphere, *words, "--json")
    assert done.code == 0, done.err
    assert list(done.json) == ["vgb-dm", "persistence", "damped", "climatology", "stability"]
    assert done.json["stability"]["starts"] == 20
    # the archive is noise about a season: of two draws persistence has the error of both
    usual, stays = (done.json[name]["rmse"]["t2m"][0] for name in ("climatology", "persistence"))
    assert stays == pytest.approx(2**0.5 * usual, rel=0.15)
    assert "persistence" in done.err


def test_leads_between_steps_are_refused(greymatch, trained: Path, atmosphere: Path) -> None:
    done = greymatch("weather", "evaluate", trained, "--data", atmosphere, "--leads", 13)
    assert done.code == 2
    assert "multiple of the model's step, 6 hours; got 13" in done.err
