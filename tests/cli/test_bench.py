from __future__ import annotations

import json
from pathlib import Path

import pytest

from greymatch.bench import grid
from greymatch.bench.grid import Failure, Job

TINY = ("--set", "training.steps=3", "--set", "training.validations=1", "--set", "residual.width=8")
QUICK = ("bench", "table", "--quick", "--draws", 2, *TINY)


def test_a_table_of_a_real_run_which_is_not_done_twice(
    greymatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*QUICK, "--methods", "vgb-dm", "--out", tmp_path, "--jobs", 64)  # so many that each has one thread
    done = greymatch(*words, "--json")
    assert done.code == 0, done.err
    assert (done.json["runs"], done.json["failed"]) == (["pendulum-vgb-dm-0"], [])
    assert json.loads((tmp_path / "table.json").read_text()) == done.json
    assert "vgb-dm" in (tmp_path / "table.md").read_text()
    assert {row["name"] for row in done.json["rows"]} > {"vgb-dm", "hold", "zero"}

    monkeypatch.setattr(Job, "start", None)  # nothing may be started: the run is there
    again = greymatch(*words)
    assert again.code == 0
    assert "vgb-dm" in again.out
    assert "1 runs, 1 of them already there" in again.err


def test_a_failed_run_ends_with_1_and_names_its_log(greymatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "its.log"
    log.write_text("what went wrong")
    monkeypatch.setattr(grid, "execute", lambda runs, folder, jobs, watch: [Failure(runs[0], 3, log)])
    done = greymatch(*QUICK, "--methods", "vgb-dm", "--out", tmp_path, "--json")
    assert done.code == 1
    assert done.json["failed"] == ["pendulum-vgb-dm-0"]
    assert str(log) in done.err
    assert "what went wrong" in done.err


def test_ctrl_c_ends_with_130_and_the_words_that_go_on(
    greymatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grid, "execute", interrupted)
    monkeypatch.setattr("sys.argv", ["greymatch", "bench", "table", "--fresh", "--out", "a b"])
    done = greymatch(*QUICK, "--out", tmp_path)
    assert done.code == 130
    assert done.err.endswith("greymatch bench table --out 'a b'\n")


def test_fresh_forgets_what_was_there(greymatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "runs" / "pendulum-gb-dm-0.json"
    old.parent.mkdir()
    old.write_text("{}")
    monkeypatch.setattr(grid, "execute", lambda runs, folder, jobs, watch: [])
    words = (*QUICK, "--methods", "gb-dm", "--out", tmp_path)
    assert greymatch(*words).code == 2
    assert greymatch(*words, "--fresh").code == 0
    assert not old.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--methods", "vgb"], "Did you mean 'vgb-dm'"),
        (["--systems", "pendulm"], "Did you mean 'pendulum'"),
        (["--seeds", "a"], "must be whole numbers"),
        (["--seeds", ","], "must name at least one"),
        (["--set", "training.stesp=3"], "Did you mean 'training.steps'"),
    ],
)
def test_bad_input_is_refused_before_any_run(greymatch, tmp_path: Path, words: list[str], told: str) -> None:
    done = greymatch("bench", "table", *words, "--out", tmp_path / "new")
    assert done.code == 2
    assert told in done.err
    assert not (tmp_path / "new").exists()
