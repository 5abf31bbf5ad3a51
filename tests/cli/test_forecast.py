from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import greymatch as gm

MODEL = ("run/model.safetensors", "--physics", "swing.py:physics", "--history", "test.nc")


def test_forecast_is_the_models_own(greymatch, user: Path) -> None:
    out = user / "out" / "forecast.nc"
    words = ("--until", 0.9, "--times", "1:2:0.5", "--draws", 3, "--seed", 5, "--out", out, "--json")
    done = greymatch("forecast", *MODEL, *words)
    assert done.code == 0, done.err
    assert done.json["lead"] == pytest.approx([0.1, 1.1])
    found = gm.Forecast.from_dataset(xr.open_dataset(out, engine="h5netcdf", decode_timedelta=False).load())
    model = gm.load(user / "run/model.safetensors", _physics(user))
    wanted = model.forecast(gm.read(user / "test.nc").until(0.9), [1.0, 1.5, 2.0], draws=3, seed=5)
    assert found.draws.numpy() == pytest.approx(wanted.draws.numpy())


def _physics(user: Path) -> gm.Physics:
    from greymatch.cli.physics_file import load_physics

    return load_physics(f"{user / 'swing.py'}:physics")


def test_forecast_to_a_time_by_the_histories_step(greymatch, user: Path) -> None:
    done = greymatch("forecast", *MODEL, "--until", 0.9, "--to", 2, "--draws", 1, "--out", "f.zarr")
    assert done.code == 0, done.err
    assert "written to f.zarr" in done.out
    times = xr.open_zarr("f.zarr", chunks=None)["time"].values
    assert np.unique(times) == pytest.approx(np.arange(10, 21) / 10)


def test_times_of_dated_data_may_be_dates(greymatch, user: Path) -> None:
    table = gm.read("test.nc").to_dataset()["angle"].to_dataframe().reset_index()
    table["time"] = np.datetime64("2024-05-01T08:00:00") + (1e9 * table["time"]).round().astype("timedelta64[ns]")
    table.to_csv("dated.csv", index=False)
    columns = ("--history", "dated.csv", "--trajectory", "trajectory", "--time", "time", "--units", "time=s")
    asked = ("--until", "2024-05-01 08:00:00.9", "--to", "2024-05-01T08:00:02", "--draws", 1, "--out", "f.zarr")
    done = greymatch("forecast", *MODEL[:-2], *columns, *asked)
    assert done.code == 0, done.err
    times = xr.open_zarr("f.zarr", chunks=None)["time"].values
    assert np.unique(times) == pytest.approx(np.arange(10, 21) / 10)


def test_forecast_draws_a_picture(greymatch, user: Path) -> None:
    words = ("--until", 0.9, "--to", 2, "--draws", 2, "--out", "f.nc", "--plot", "f.png", "--quiet")
    done = greymatch("forecast", *MODEL, *words)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (user / "f.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "needs --times START:STOP:STEP or --to T"),
        (["--to", "9", "--times", "6:9:1"], "one of them"),
        (["--times", "6:9"], "must be START:STOP:STEP"),
        (["--to", "2"], "must lie a step"),
        (["--times", "2:3:0.1"], "last observ"),
        (["--to", "9", "--until", "0.1"], "Give a longer history"),
        (["--to", "9", "--until", "-1"], "leaves trajectory"),
        (["--to", "9", "--plot", "f.gif"], "`--plot` must end in .png"),
        (["--to", "9", "--time", "t"], "no 't'"),
    ],
)
def test_forecast_refuses(greymatch, user: Path, words: list[str], told: str) -> None:
    done = greymatch("forecast", *MODEL, *words, "--out", "f.nc")
    assert done.code == 2
    assert told in done.err
    assert not (user / "f.nc").exists()


def test_a_model_of_the_users_needs_the_users_physics(greymatch, user: Path) -> None:
    done = greymatch("forecast", MODEL[0], *MODEL[3:], "--to", 9, "--out", "f.nc")
    assert done.code == 2
    assert "--physics FILE.py:NAME" in done.err


@pytest.mark.parametrize("model", ["none.safetensors", "test.nc", "run/last.safetensors"])
def test_forecast_needs_a_model_file(greymatch, user: Path, model: str) -> None:
    done = greymatch("forecast", model, *MODEL[1:], "--to", 9, "--out", "f.nc")
    assert done.code == 2
    assert model in done.err


def test_usage_errors_end_with_2(greymatch, user: Path) -> None:
    assert greymatch("forecast", *MODEL, "--to", 9).code == 2  # no --out
    assert greymatch("forecast", *MODEL, "--to", 9, "--draws", 0, "--out", "f.nc").code == 2
