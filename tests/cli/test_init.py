from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import greymatch as gm
from greymatch.cli.init import rate
from greymatch.cli.physics_file import load_physics

TINY = ("--steps", 3, "--set", "training.batch=8", "--set", "training.validations=1", "--set", "residual.products=0")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("kind", "file"), [("first", "a.csv"), ("second", "a.csv"), ("field", "a.nc")])
def test_a_starter_runs_as_written(greymatch, here: Path, kind: str, file: str) -> None:
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


def test_inputs_that_are_named_stand_in_the_starter(greymatch, here: Path) -> None:
    times, words = np.linspace(0, 10, 101), ("--states", "x", "--inputs", "push", "--input-kind", "linear")
    runs = [pd.DataFrame({"run": run, "time": times, "x": np.cos(times + run), "push": 1.0}) for run in range(12)]
    pd.concat(runs).to_csv(here / "bench.csv", index=False)
    made = greymatch("init", "a", "--kind", "second", "--data", "bench.csv", "--trajectory", "run", *words, "--json")
    assert load_physics("a.py:physics").inputs == ("push",)
    assert greymatch(*made.json["next"].split()[1:]).code == 0
    told = [line.split() for line in (here / "a.py").read_text().splitlines() if "greymatch check" in line]
    assert told[0] == made.json["next"].split()


def test_a_prior_begins_beside_noise(seed: int) -> None:
    times = np.arange(0, 25, 0.1)
    noisy = np.cos(2 * times) + 0.05 * np.random.default_rng(seed).normal(size=len(times))
    stiffness = rate(gm.read(pd.DataFrame({"time": times, "x": noisy})), order=2)
    assert stiffness == pytest.approx(4, rel=0.3)


def test_a_gap_in_a_field_is_no_peak() -> None:
    place, clock = np.linspace(0, 6, 40), np.linspace(0, 1, 30)
    frames = 300 + np.exp(-clock)[None, :, None] * np.sin(place) * np.ones((3, 1, 1))
    whole, gappy = frames.copy(), frames.copy()
    gappy[1, 12, 20] = np.nan
    axes = {"time": clock, "x": place}
    medians = [
        rate(gm.read(xr.Dataset({"u": (("trajectory", "time", "x"), one)}, axes)), 1, (place[1],))
        for one in (whole, gappy)
    ]
    assert medians[0] == pytest.approx(medians[1], rel=0.1)


def test_commands_name_the_settings_where_they_are(greymatch, here: Path) -> None:
    (here / "sub").mkdir()
    assert greymatch("init", "sub/swing", "--kind", "second", "--example").code == 0
    assert "--config sub/swing.toml --out runs/swing" in (here / "sub" / "swing.py").read_text()


def test_a_field_begins_with_the_spacing_of_its_grid(greymatch, here: Path) -> None:
    x, t = (np.arange(40) + 0.5) / 4, np.linspace(0, 4, 41)
    wave = 2 * np.pi / 10
    u = np.exp(-0.3 * wave**2 * t[:, None]) * np.cos(wave * x)  # diffuses at 0.3 between walls
    data = xr.Dataset({"u": (("trajectory", "time", "x"), np.stack([u, 2 * u]))}, {"time": t, "x": x})
    data.to_netcdf(here / "rod.nc")
    assert greymatch("init", "rod", "--kind", "field", "--data", "rod.nc").code == 0
    assert "spacing = (0.25,)" in (here / "rod.py").read_text()
    assert load_physics("rod.py").params["diffusivity"].describe()["median"] == pytest.approx(0.3, rel=0.05)
