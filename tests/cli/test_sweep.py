from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from greymatch.bench.jobs import run_folder
from greymatch.sweep import trial
from greymatch.sweep.trial import Trial

TINY = (
    "--steps",
    3,
    *(
        word
        for key in ("training.validations=1", "encoder.width=8", "training.batch=8", "residual.products=0")
        for word in ("--set", key)
    ),
)


@pytest.fixture
def done_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fits are done in this process; their names."""
    names: list[str] = []
    usual = Trial.words

    def here(self: Trial, out: Path) -> list[str]:
        names.append(self.name)
        usual(self, out)
        trial.perform(out)
        return ["-S", "-c", ""]

    monkeypatch.setattr(Trial, "words", here)
    return names


def test_a_sweep_over_a_users_own_physics_is_sorted_and_goes_on(greymatch, user: Path, done_here: list[str]) -> None:
    words = ("sweep", "--physics", "swing.py:physics", "--data", "train.csv", "--trajectory", "id", "--time", "t")
    words = (*words, "--set", "window=10", *TINY, "--out", "swept")
    done = greymatch(*words, "--over", "residual.width=4,8", "--json")
    assert done.code == 0, done.err
    assert done_here == ["residual.width=4-seed0", "residual.width=8-seed0"]
    errors = [row["validation_error"]["mean"] for row in done.json["sweep"]]
    assert errors == sorted(errors)
    assert json.loads((user / "swept" / "sweep.json").read_text()) == done.json
    assert "| residual.width |" in (user / "swept" / "sweep.md").read_text()
    rows = list(csv.DictReader((user / "swept" / "sweep.csv").read_text().splitlines()))
    assert {row["residual.width"] for row in rows} == {"4", "8"}
    assert (run_folder(user / "swept" / "runs" / "residual.width=4-seed0.json") / "model.safetensors").exists()

    more = greymatch(*words, "--over", "residual.width=4,8,12")
    assert "3 runs, 2 of them already there" in more.err
    assert done_here[2:] == ["residual.width=12-seed0"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--over", "residual.wdith=1,2"], "Did you mean 'residual.width'"),
        (["--over", "residual.width=1:2"], "--random N"),
        (["--over", "training.seed=1,2"], "Use --seeds"),
        (["--over", "training.steps=1,2", "--steps", "3"], "both say 'training.steps'"),
        (["--over", "method=vgb,gb-dm"], "Did you mean 'vgb-dm'"),
    ],
)
def test_bad_input_is_refused_before_any_fit(greymatch, small_system, tmp_path: Path, words, told: str) -> None:
    done = greymatch("sweep", "--system", "pendulum", *words, "--out", tmp_path / "new")
    assert done.code == 2
    assert told in done.err
    assert not (tmp_path / "new").exists()
