from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from greymatch.models.unusual import UnusualHistoryWarning

MODEL = ("run/model.safetensors", "--physics", "swing.py:physics", "--history", "test.nc", "--until", "0.9")


def test_infer_prints_a_row_for_each_trajectory(greymatch, user: Path) -> None:
    done = greymatch("infer", *MODEL, "--draws", 50)
    assert done.code == 0, done.err
    assert "90 % interval" in done.out
    assert done.out.count("omega") == 5


def test_intervals_are_quantiles_of_the_draws(greymatch, user: Path) -> None:
    done = greymatch("infer", *MODEL, "--level", 0.5, "--out", "p.nc", "--json")
    found = done.json
    assert (done.code, found["level"], len(found["posterior"])) == (0, 0.5, 5)
    draws = xr.open_dataset("p.nc", engine="h5netcdf")["omega"].values
    assert draws.shape == (1000, 5)
    for row, own in zip(found["posterior"], draws.T, strict=True):
        assert [row["low"], row["high"]] == pytest.approx(np.quantile(own, [0.25, 0.75]), rel=1e-5)
        assert row["mean"] == pytest.approx(own.mean(), rel=1e-5)


@pytest.mark.parametrize(("name", "read"), [("p.csv", pd.read_csv), ("p.parquet", pd.read_parquet)])
def test_tables_hold_means_and_intervals(greymatch, user: Path, name: str, read) -> None:
    done = greymatch("infer", *MODEL, "--draws", 50, "--out", name, "--json")
    table = read(user / name)
    assert list(table.columns) == ["trajectory", "parameter", "mean", "std", "low", "high"]
    assert table["mean"].tolist() == pytest.approx([row["mean"] for row in done.json["posterior"]], rel=1e-5)


@pytest.mark.parametrize(
    ("words", "told"), [(["--level", "90"], "`level` must lie between"), (["--out", "p.txt"], "must end in .csv")]
)
def test_infer_refuses(greymatch, user: Path, words: list[str], told: str) -> None:
    done = greymatch("infer", *MODEL, *words)
    assert done.code == 2
    assert told in done.err


def test_a_black_box_has_nothing_to_infer(greymatch, small_system, user: Path) -> None:
    assert greymatch("fit", "--system", "pendulum", "--method", "vbb-dm", "--steps", 2, "--out", "black").code == 0
    done = greymatch("infer", "black/model.safetensors", "--history", "test.nc")
    assert done.code == 2
    assert "nothing to infer" in done.err


@pytest.mark.parametrize("words", [("infer",), ("forecast", "--to", "2", "--out", "f.nc", "--draws", 2)])
def test_histories_unlike_the_training_data_are_told_in_words(greymatch, user: Path, words) -> None:
    far = xr.open_dataset("test.nc", engine="h5netcdf").load()
    far["angle"] *= 20
    far.to_netcdf("far.nc", engine="h5netcdf")
    with warnings.catch_warnings():
        warnings.simplefilter("default", UnusualHistoryWarning)
        done = greymatch(words[0], *MODEL[:-3], "far.nc", *MODEL[-2:], *words[1:], "--json", "--quiet")
    assert done.code == 0, done.err
    assert done.json  # the warning is not among the result
    assert "warning: " in done.err
    assert "far beyond what the model was fitted to: angle" in done.err
    assert ".py" not in done.err
