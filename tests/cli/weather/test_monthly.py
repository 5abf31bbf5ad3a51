from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

TINY = ("net.width=4", "net.latents=4", "training.steps=2", "training.validations=1", "training.batch=2")
CHANGES = [word for change in TINY for word in ("--set", change)]


@pytest.fixture
def longer(atmosphere: Path, tmp_path: Path) -> Path:
    """With a year more to learn from: 2014, as 2017 was."""
    folder = shutil.copytree(atmosphere, tmp_path / "longer")
    for path in folder.rglob("*_2017_*.nc"):
        with xr.open_dataset(path, engine="h5netcdf") as year:
            moved = year["time"].values - year["time"].values[0] + np.datetime64("2014-01-01", "ns")
            earlier = year.load().assign_coords(time=moved)
        earlier.to_netcdf(path.with_name(path.name.replace("2017", "2014")), engine="h5netcdf")
    return folder


def test_months_stand_beside_the_references(greymatch, longer: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = greymatch("weather", "monthly", "--data", longer, "--out", out, *CHANGES, "--json")
    assert done.code == 0, done.err
    rows = {(row["field"], row["forecast"]): row for row in done.json["rmse"]}
    assert rows["t2m", "vgb-dm"]["5"]["mean"] < rows["t2m", "persistence"]["5"]["mean"]
    names = {"monthly.json", "monthly.md", "monthly.png", "monthly-rmse.csv", "monthly-acc.csv", "monthly-cells.csv"}
    assert {path.name for path in out.iterdir()} == names


def test_one_training_year_is_not_enough(greymatch, atmosphere: Path, tmp_path: Path) -> None:
    done = greymatch("weather", "monthly", "--data", atmosphere, "--out", tmp_path, *CHANGES)
    assert done.code == 2
    assert "at least two training years" in done.err
