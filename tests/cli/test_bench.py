from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import Popen

import pytest

from greymatch.bench import grid
from greymatch.bench.grid import Failure, Job, log_file
from greymatch.bench.plan import Run
from greymatch.bench.run import perform

TINY = ("--set", "training.steps=3", "--set", "training.validations=1", "--set", "residual.width=8")
QUICK = ("bench", "table", "--quick", "--draws", 2, *TINY)


def test_a_table_of_runs_which_are_not_done_twice(
    greymatch, small_system, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done_runs: list[str] = []

    def here(run: Run, out: Path, threads: int) -> Job:
        """The run in this process, where the system is small; then one that has nothing left to do."""
        done_runs.append(run.name)
        perform(run, out)
        return Job(run, out, log_file(out).open("wb"), Popen([sys.executable, "-S", "-c", ""]))

    monkeypatch.setattr(Job, "start", here)
    words = (*QUICK, "--methods", "vgb-dm,vbb-dm", "--out", tmp_path)
    done = greymatch(*words, "--json")
    assert done.code == 0, done.err
    assert done.json["runs"] == done_runs == ["pendulum-vgb-dm-0", "pendulum-vbb-dm-0"]
    assert json.loads((tmp_path / "table.json").read_text()) == done.json
    assert "vgb-dm" in (tmp_path / "table.md").read_text()
    assert {row["name"] for row in done.json["rows"]} > {"vgb-dm", "vbb-dm", "hold", "zero"}

    again = greymatch(*words)
    assert again.code == 0
    assert "vgb-dm" in again.out
    assert "2 runs, 2 of them already there" in again.err
    assert len(done_runs) == 2


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
