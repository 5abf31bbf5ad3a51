from __future__ import annotations

import json
from pathlib import Path

import pytest

from greymatch.bench import grid
from greymatch.bench.grid import Failure
from greymatch.bench.plan import Run
from greymatch.bench.run import perform
from greymatch.bench.views import BENCHMARKS

TINY = ("--set", "training.steps=3", "--set", "training.validations=1", "--set", "residual.products=0")
SMALL = ("--systems", "pendulum", "--seeds", "0", "--draws", 2, *TINY)
TABLE = ("bench", "table", *SMALL)


@pytest.fixture
def done_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs are done in this process, where the system is small; their names."""
    names: list[str] = []

    def here(run: Run, out: Path) -> list[str]:
        names.append(run.name)
        perform(run, out)
        return ["-S", "-c", ""]

    monkeypatch.setattr(Run, "words", here)
    return names


@pytest.fixture
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "execute", lambda runs, folder, jobs, watch: [])


def test_benchmarks_share_runs_which_are_not_done_twice(
    greymatch, small_system, tmp_path: Path, done_runs: list[str]
) -> None:
    words = (*TABLE, "--methods", "vgb-dm,vbb-dm", "--out", tmp_path)
    done = greymatch(*words, "--json")
    assert done.code == 0, done.err
    assert done.json["runs"] == done_runs == ["pendulum-vgb-dm-0", "pendulum-vbb-dm-0"]
    assert json.loads((tmp_path / "table.json").read_text()) == done.json
    assert {row["method"] for row in done.json["table"]} > {"vgb-dm", "vbb-dm", "hold", "zero"}
    assert {path.name for path in tmp_path.glob("table*.*")} == {
        "table.json", "table.md", "table.csv", "table-matrix.csv", "table.png",
    }  # fmt: skip

    for name in ("table", "convergence", "elbo"):
        again = greymatch("bench", name, *SMALL, "--methods", "vgb-dm,vbb-dm", "--out", tmp_path)
        assert again.code == 0
        assert "vgb-dm" in again.out
        assert "2 runs, 2 of them already there" in again.err
    assert greymatch("bench", "parameters", *SMALL, "--methods", "vgb-dm", "--out", tmp_path).code == 0
    assert len(done_runs) == 2
    assert "Short runs" not in (tmp_path / "table.md").read_text()


def test_what_is_stored_is_shown_and_nothing_is_run(
    greymatch, small_system, tmp_path: Path, done_runs: list[str]
) -> None:
    greymatch(*TABLE, "--methods", "vgb-dm", "--out", tmp_path)
    done = greymatch(*TABLE, "--methods", "vgb-dm,vbb-dm", "--out", tmp_path, "--stored", "--json")
    assert done.code == 0, done.err
    assert done.json["runs"] == done_runs == ["pendulum-vgb-dm-0"]
    both = greymatch(*TABLE, "--stored", "--fresh", "--out", tmp_path)
    assert (both.code, "Leave one out" in both.err) == (2, True)


def test_quick_keeps_to_a_folder_of_its_own_and_says_so(
    greymatch, small_system, tmp_path: Path, done_runs: list[str]
) -> None:
    words = ("--systems", "pendulum", "--methods", "gb-dm", "--seeds", "4,5", *TINY, "--out", tmp_path)
    done = greymatch("bench", "consistency", "--quick", *words, "--json")
    assert done.code == 0, done.err
    assert done_runs == ["pendulum-gb-dm-4"]  # one seed
    assert not list(tmp_path.glob("*.*"))
    assert "Short runs" in (tmp_path / "quick" / "consistency.md").read_text()
    kept = json.loads((tmp_path / "quick" / "runs" / "pendulum-gb-dm-4.json").read_text())
    assert (kept["val"], kept["test"], kept["draws"], kept["trajectories"]["train"]) == (4, 40, 5, 16)


def test_a_failed_run_ends_with_1_and_names_its_log(greymatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "its.log"
    log.write_text("what went wrong")
    monkeypatch.setattr(grid, "execute", lambda runs, folder, jobs, watch: [Failure(runs[0], 3, log)])
    done = greymatch(*TABLE, "--methods", "vgb-dm", "--out", tmp_path, "--json")
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
    done = greymatch(*TABLE, "--methods", "vgb-dm", "--out", tmp_path)
    assert done.code == 130
    assert done.err.endswith("greymatch bench table --out 'a b'\n")


@pytest.mark.usefixtures("no_runs")
def test_fresh_forgets_what_was_there(greymatch, tmp_path: Path) -> None:
    old = tmp_path / "runs" / "pendulum-gb-dm-0.json"
    old.parent.mkdir()
    old.write_text("{}")
    words = (*TABLE, "--methods", "gb-dm", "--out", tmp_path)
    refused = greymatch(*words)
    assert refused.code == 2
    assert "another version of greymatch" in refused.err
    assert greymatch(*words, "--fresh").code == 0
    assert not old.exists()


@pytest.mark.usefixtures("no_runs")
def test_what_an_ablation_leaves_out_is_told_with_the_reason(greymatch, tmp_path: Path) -> None:
    done = greymatch("bench", "ablation", "--systems", "pendulum", "--out", tmp_path)
    assert done.code == 0
    assert "linear: left out" in done.err
    assert "linear: left out" in (tmp_path / "ablation.md").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["table", "--methods", "vgb"], "Did you mean 'vgb-dm'"),
        (["table", "--systems", "pendulm"], "Did you mean 'pendulum'"),
        (["table", "--seeds", "a"], "must be whole numbers"),
        (["table", "--seeds", ","], "must name at least one"),
        (["elbo", "--set", "training.stesp=3"], "Did you mean 'training.steps'"),
        (["elbo", "--data", "lorenz"], "must be SYSTEM=FOLDER"),
        (["convergence", "--data", "lorenz=somewhere"], "with one of the systems"),
        (["elbo", "--data", "lorenz=nowhere"], "must be a folder with train, val or test"),
        (["ablation", "--methods", "vgb-dm"], "knows itself which methods"),
        (["table", "--noise", "0.01"], "has data without noise"),
        (["explain", "--noise", "0,-1"], "must be numbers of at least 0"),
        (["parameters", "--noise", "little"], "must be numbers of at least 0"),
    ],
)
def test_bad_input_is_refused_before_any_run(greymatch, tmp_path: Path, words: list[str], told: str) -> None:
    done = greymatch("bench", *words, "--out", tmp_path / "new")
    assert done.code == 2
    assert told in done.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_a_page_of_help(greymatch, name: str) -> None:
    done = greymatch("bench", name, "--help")
    assert done.code == 0
    assert "--jobs" in done.out
