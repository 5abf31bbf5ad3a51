from __future__ import annotations

from pathlib import Path

import pytest

import greymatch as gm
from greymatch.cli.physics_file import load_physics
from greymatch.training import calibration

TINY = ("--steps", 3, "--set", "training.batch=8", "--set", "training.validations=1", "--set", "residual.products=0")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("kind", "file"), [("first", "a.csv"), ("second", "a.csv"), ("field", "a.nc")])
def test_a_starter_runs_as_written(
    greymatch, here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, file: str
) -> None:
    monkeypatch.setattr(calibration, "CLOSE", 1.0)  # a model of three steps has draws that are slow to solve
    monkeypatch.setattr(calibration, "DRAWS", 4)
    made = greymatch("init", "a", "--kind", kind, "--example", "--json")
    assert made.code == 0, made.err
    assert made.json["written"] == ["a.py", "a.toml", file]
    checked = greymatch(*made.json["next"].split()[1:], "--config", "a.toml", "--json")
    assert checked.code == 0, checked.out
    fitted = greymatch(*checked.json["next"].split()[1:], *TINY)
    assert fitted.code == 0, fitted.err
    assert (here / "runs/a/model.safetensors").exists()


def test_the_words_in_a_starter_are_those_that_run_it(greymatch, here: Path) -> None:
    greymatch("init", "tank", "--example", "--quiet")
    told = [line.split() for line in (here / "tank.py").read_text().splitlines() if "greymatch check" in line]
    assert greymatch(*told[0][1:]).code == 0


def test_a_starter_speaks_of_the_users_columns(greymatch, here: Path) -> None:
    rows = [f"{run},{0.1 * i},{run + i},{2 * i}" for run in range(12) for i in range(30)]
    (here / "bench.csv").write_text("run,seconds,pressure,flow\n" + "\n".join(rows))
    done = greymatch("init", "pump", "--data", "bench.csv", "--trajectory", "run", "--time", "seconds")
    assert done.code == 0, done.err
    assert done.out.rstrip().endswith(
        "greymatch check --physics pump.py:physics --data bench.csv --trajectory run --time seconds"
    )
    physics = load_physics("pump.py:physics")
    assert physics.states == ("pressure", "flow")
    assert gm.read("bench.csv", states=physics.states, trajectory="run", time="seconds").states == physics.states


def test_nothing_is_written_over(greymatch, here: Path) -> None:
    (here / "a.toml").write_text("mine")
    done = greymatch("init", "a")
    assert done.code == 2
    assert "'a.toml' is there already" in done.err
    assert [path.name for path in here.iterdir()] == ["a.toml"]
    assert (here / "a.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "--kind", "secnd"], "Did you mean 'second'"),
        (["two words"], "must be a name as Python has them"),
        (["3d"], "must be a name as Python has them"),
        (["a", "--data", "none.csv"], "no file 'none.csv'"),
        (["a", "--data", "none.csv", "--example"], "leave out --data or --example"),
        (["a", "--kind", "field", "--data", "bench.csv"], "does not suit data with grid axes []. Use --kind first"),
    ],
)
def test_what_cannot_be_started_is_told_and_leaves_nothing(greymatch, here: Path, words: list[str], told: str) -> None:
    (here / "bench.csv").write_text("time,x\n0,1\n1,2\n2,4\n")
    done = greymatch("init", *words)
    assert done.code == 2
    assert told in done.err
    assert [path.name for path in here.iterdir()] == ["bench.csv"]
