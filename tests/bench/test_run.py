from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from greymatch.bench import run as module
from greymatch.bench.jobs import run_folder
from greymatch.bench.plan import Run
from greymatch.bench.run import main, perform
from greymatch.bench.splits import recorded
from greymatch.bench.stored import stored
from greymatch.data.write import write
from greymatch.forecast.scores import score
from greymatch.models.file import load
from greymatch.systems.system import System

pytestmark = pytest.mark.usefixtures("roughly")


def test_a_run_is_one_file_that_tells_all(small_system: System, tmp_path: Path) -> None:
    out = tmp_path / "pendulum-vgb-dm-1.json"
    run = Run("pendulum", "vgb-dm", 1, {"residual.products": 0}, draws=4)  # else it ends early
    result = perform(run, out)
    assert json.loads(out.read_text()) == result
    assert {key: result[key] for key in run.asked()} == run.asked()
    assert result["seeds"] == {"training": 1, "forecast": 1, "data.train": 1, "data.val": 2, "data.test": 3}
    assert result["machine"].keys() == {"cores", "threads", "torch", "python", "system"}
    assert result["parameters"]["omega"].keys() >= {"rmse", "prior_rmse"}
    assert (result["steps"], result["points"]) == (5, {"given": 10, "scored": 30})
    assert result["trajectories"] == {"train": 12, "val": 12, "test": 12}
    assert result["windows_per_second"] == pytest.approx(5 * 64 / result["training_seconds"], rel=1e-3)
    assert result["weights"]["total"] == result["weights"]["encoder"] + result["weights"]["field"] > 0
    assert result["curve"]["step"] == [5]
    assert result["terms"]["curve"].keys() >= {"velocity_error", "matching", "residual"}
    assert result["consistency"]["omega"]["windows"] == 16
    assert result["calibration"]["levels"] == [0.5, 0.8, 0.9, 0.95]
    assert result["calibration"]["parameters"]["omega"]["coverage"][2] == pytest.approx(
        result["parameters"]["omega"]["coverage"], rel=1e-3
    )
    assert len(json.dumps(result["calibration"])) < 2000
    assert out.stat().st_size < 60_000
    assert result["command"].startswith("python -m greymatch.bench.run --system pendulum --method vgb-dm --seed 1")
    # the numbers are those of the model that was kept
    model, test = load(run_folder(out) / "model.safetensors"), small_system.data("test")
    ensemble, central = (
        score(model.forecast(recorded(test).first(10), test.times[:, 10:], draws=draws, seed=1), test).mse
        for draws in (4, 1)
    )
    assert result["scores"]["mse"] == pytest.approx(ensemble)
    assert result["central"]["mse"] == pytest.approx(central)


def test_a_run_without_its_result_goes_on_from_its_checkpoint(
    small_system: System, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, run = tmp_path / "a.json", Run("pendulum", "vbb-dm", 0, draws=2)
    first = perform(run, out)
    assert first["parameters"] == first["consistency"] == {}  # nothing is known, nothing is inferred
    out.unlink()
    assert main([*run.arguments(), "--out", str(out)]) == 0
    assert json.loads(out.read_text())["training_seconds"] == first["training_seconds"]
    assert "pendulum-vbb-dm-0: forecast MSE" in capsys.readouterr().out


def test_a_run_learns_from_and_is_judged_by_so_many(small_system: System, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    write(small_system.data("val"), tmp_path / "secret" / "train.nc")
    run = Run("pendulum", "gb-dm", 0, {}, 2, "n3", train=3, test=2, data=tmp_path / "secret")
    result = perform(run, tmp_path / "a.json")
    assert result["trajectories"] == {"train": 3, "val": 12, "test": 2}
    assert result["data"].keys() == {"train"}
    assert result["seeds"].keys() == {"training", "forecast", "data.val", "data.test"}
    assert str(tmp_path) not in (tmp_path / "a.json").read_text()  # which data, not where they lie


def test_an_explanation_is_that_of_the_model_which_is_there(
    small_system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run("pendulum", "vgb-dm", 0, draws=2)
    alone = perform(run, tmp_path / f"{run.name}.json")
    asked = replace(run, explain=True)
    out = tmp_path / f"{asked.name}.json"
    result = perform(asked, out)
    assert not run_folder(out).exists()  # nothing was fitted
    assert (result["scores"], result["steps"]) == (alone["scores"], alone["steps"])
    assert result["explanation"]["text"].startswith("angle'' = known")
    assert stored(asked, tmp_path) == result

    (tmp_path / run.name / "model.safetensors").unlink()
    monkeypatch.setattr(module, "explained", lambda model, *_: {"steps": model.record["steps"]})
    assert perform(asked, out)["explanation"] == {"steps": alone["steps"]}
    assert (run_folder(out) / "model.safetensors").exists()  # one was fitted


def test_bad_input_ends_with_2_and_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--system", "pendulm", "--out", str(tmp_path / "a.json")]) == 2
    assert "Did you mean 'pendulum'" in capsys.readouterr().err
