from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

import greymatch as gm
from greymatch.training import progress
from greymatch.training.progress import Moment, Silent

USER = ("fit", "--physics", "swing.py:physics", "--data", "train.csv", "--trajectory", "id", "--time", "t")
NET_ALONE = ("--set", "residual.products=0")  # else a law is found before training, which takes long and ends it early
TINY = ("--set", "encoder.width=8", "--set", "residual.width=8", "--set", "training.batch=16", "--set", "window=8")
TINY = (*TINY, *NET_ALONE)


class Stopping(Silent):
    """A user who presses Ctrl-C as soon as a step is shown."""

    def show(self, moment: Moment) -> None:
        signal.raise_signal(signal.SIGINT)


def test_fit_of_a_built_in_system(greymatch, small_system, tmp_path: Path) -> None:
    words = ("--seed", 4, "--method", "gb-dm", "--out", tmp_path / "a", *NET_ALONE, "--json")
    done = greymatch("fit", "--system", "pendulum", *words)
    assert done.code == 0
    assert done.json["steps"] == small_system.preset.training.steps
    model = gm.load(done.json["model"])
    assert (model.settings.method, model.settings.training.seed) == ("gb-dm", 4)


def test_settings_come_from_config_then_from_the_command_line(greymatch, user: Path) -> None:
    (user / "settings.toml").write_text("[training]\nminutes = 60\nbatch = 16\n[residual]\nwidth = 24\n")
    words = ("--config", "settings.toml", "--set", "residual.width=8", "--set", "training.steps=2", "--set", "window=8")
    done = greymatch(*USER, *NET_ALONE, *words, "--json")
    assert done.code == 0, done.err
    assert done.json["folder"] == str(Path("runs/swing"))
    found = done.json["settings"]
    assert (found["training"]["batch"], found["residual"]["width"]) == (16, 8)
    assert (found["training"]["steps"], found["training"]["minutes"]) == (2, None)


def test_ctrl_c_ends_with_130_and_the_words_that_go_on(greymatch, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(progress, "meter", lambda quiet: Stopping())
        words = ("--steps", 6, "--set", "training.validations=6", "--out", "runs/a b")
        done = greymatch(*USER, *TINY, *words)
    assert done.code == 130
    assert done.err.splitlines()[-1] == "  greymatch fit --resume 'runs/a b'"
    stopped = len((user / "runs/a b/metrics.jsonl").read_text().splitlines())
    assert stopped < 6
    monkeypatch.chdir(user.parent)  # the run knows where its files are
    done = greymatch("fit", "--resume", "user/runs/a b", "--json")
    assert done.code == 0, done.err
    assert done.json["steps"] == 6


def test_resume_of_a_run_that_never_began_begins_it(greymatch, user: Path) -> None:
    for name in ("last.safetensors", "best.safetensors", "run.json", "model.safetensors"):
        (user / "run" / name).unlink()
    done = greymatch("fit", "--out", "run", "--resume")
    assert done.code == 0, done.err
    assert (user / "run/model.safetensors").exists()
    assert "of the data's variance (geometric mean over trajectories)" in done.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--data", "test.nc"], "--data"),
        (["--steps", "21"], "training.steps"),
        (["--set", "residual.width=9"], "residual.width"),
        (["--system", "pendulum"], "--system"),
    ],
)
def test_resume_refuses_another_run(greymatch, user: Path, words: list[str], told: str) -> None:
    done = greymatch("fit", "--resume", "run", *words)
    assert done.code == 2
    assert f"not as in its command.json: {told}." in done.err


def test_resume_accepts_what_the_run_was_told(greymatch, user: Path) -> None:
    stored = json.loads((user / "run/command.json").read_text())
    done = greymatch("fit", "--resume", "run", "--data", stored["data"], "--steps", 20, "--trajectory", "id")
    assert done.code == 0, done.err


def test_a_folder_with_a_run_is_not_written_over(greymatch, user: Path) -> None:
    before = (user / "run/command.json").read_text()
    done = greymatch(*USER, *TINY, "--steps", 2, "--out", "run")
    assert done.code == 2
    assert "greymatch fit --resume run" in done.err
    assert (user / "run/command.json").read_text() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "needs --system NAME, or both"),
        (["--physics", "swing.py:physics"], "or both"),
        (["--system", "pendulum", "--data", "train.csv"], "leave out --data"),
        (["--system", "pendulm"], "Did you mean 'pendulum'"),
        (["--resume"], "needs the folder of one run"),
        (["--resume", "run", "--out", "other"], "needs the folder of one run"),
        (["--resume", "nowhere"], "no command.json there"),
        (["run"], "FOLDER is for --resume"),
    ],
)
def test_what_to_fit_must_be_clear(greymatch, user: Path, words: list[str], told: str) -> None:
    done = greymatch("fit", *words)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "residual.widht=3"], "Did you mean 'residual.width'"),
        (["--set", "residual.width"], "must be KEY=VALUE"),
        (["--set", "residual.width=wide"], "got 'wide'"),
        (["--minutes", "-1"], "greater than 0; got -1.0"),
        (["--steps", "3", "--set", "training.steps=4"], "say the same"),
        (["--method", "vgb"], "Did you mean 'vgb-dm'"),
        (["--config", "none.toml"], "none.toml"),
        (["--states", "angel"], "Did you mean 'angle'"),
        (["--validation", "tests.nc"], "Did you mean 'test.nc'"),
    ],
)
def test_bad_options_leave_no_run(greymatch, user: Path, words: list[str], told: str) -> None:
    done = greymatch(*USER, *words)
    assert done.code == 2
    assert told in done.err
    assert not (user / "runs").exists()


def test_broken_command_file_is_refused(greymatch, user: Path) -> None:
    (user / "run/command.json").write_text("[]")
    done = greymatch("fit", "--resume", "run")
    assert done.code == 2
    assert "is not what `greymatch fit` wrote" in done.err


def test_a_lazy_store_is_learned_from_in_parts_and_resumed(greymatch, user: Path) -> None:
    data = gm.read("train.csv", trajectory="id", time="t", states=["angle"])
    data.to_dataset().to_zarr("train.zarr", zarr_format=2, encoding={"angle": {"chunks": (2, 100)}})
    words = ("fit", "--physics", "swing.py", "--data", "train.zarr", "--lazy", "--set", "data.shelf=4", "--steps", 4)
    done = greymatch(*words, *TINY, "--out", "lazy", "--json")
    assert done.code == 0, done.err
    assert done.json["trajectories"]["train"] == 4 < len(data)
    assert json.loads((user / "lazy/command.json").read_text())["lazy"] is True
    assert greymatch("fit", "--resume", "lazy", "--lazy").code == 0
    assert greymatch("check", *words[1:-2], *TINY).code == 0


def test_renamed_columns_are_remembered_by_the_model(greymatch, user: Path) -> None:
    text = Path("train.csv").read_text()
    Path("bench.csv").write_text(text.replace("angle", "theta_deg", 1))
    named = ("--trajectory", "id", "--time", "t", "--states", "angle=theta_deg", "--units", "angle=deg")
    physics = ("--physics", "swing.py")
    done = greymatch("fit", *physics, "--data", "bench.csv", *named, *TINY, "--steps", 2, "--out", "renamed")
    assert done.code == 0, done.err
    shown = ("--history", "bench.csv", "--until", 1.5, "--to", 2.0, "--draws", 2, "--out", "out.nc")
    done = greymatch("forecast", "renamed/model.safetensors", *physics, *shown)
    assert done.code == 0, done.err
    assert gm.Forecast.read("out.nc").units["angle"] == "deg"
