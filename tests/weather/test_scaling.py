from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.read import read
from greymatch.weather.scaling import Scaling


def archive_of(values: np.ndarray, rows: int) -> Archive:
    lat = (np.arange(rows) + 0.5) * 180 / rows - 90
    times = np.datetime64("2010-01-01", "ns") + np.arange(len(values)) * np.timedelta64(6, "h")
    axes = {"time": times, "lat": lat, "lon": np.arange(values.shape[2]) * 360 / values.shape[2]}
    return Archive(xr.Dataset({"t2m": (("time", "lat", "lon"), values)}, axes), xr.Dataset())


def test_moments_are_those_of_the_sphere() -> None:
    """3 + 2 sin(lat), alternating by 1 in time: mean 3, variance 4/3 + 1, change 2."""
    rows = 64
    sine = np.sin(np.deg2rad((np.arange(rows) + 0.5) * 180 / rows - 90))
    values = 3 + 2 * sine[None, :, None] + np.array([1.0, -1.0, 1.0, -1.0])[:, None, None] + np.zeros((4, rows, 8))
    scaling = Scaling.of(archive_of(values, rows))
    assert scaling.center.item() == pytest.approx(3, abs=1e-5)
    assert scaling.spread.item() == pytest.approx(math.sqrt(4 / 3 + 1), rel=1e-3)
    assert scaling.change.item() == pytest.approx(2, rel=1e-5)
    np.testing.assert_allclose(scaling.low[0], 2 + 2 * sine, rtol=1e-6)
    np.testing.assert_allclose(scaling.high[0], 4 + 2 * sine, rtol=1e-6)


def test_applied_values_have_mean_0_and_spread_1_and_come_back(wb1_folder: Path) -> None:
    archive = read(wb1_folder)
    scaling = Scaling.of(archive)
    values = archive.at([0, 30], 6).values
    seen = scaling.apply(values)
    assert seen.shape == values.shape
    torch.testing.assert_close(scaling.undo(seen), values)
    again = Scaling.of(Archive((archive.fields - scaling.center[0].item()) / scaling.spread[0].item(), archive.still))
    assert again.center[0].item() == pytest.approx(0, abs=1e-3)
    assert again.spread[0].item() == pytest.approx(1, rel=1e-4)


def test_training_years_alone_decide(wb1_folder: Path) -> None:
    archive = read(wb1_folder)
    train = archive.years(2015, 2015)
    changed = archive.fields.where(archive.fields["time"] < np.datetime64("2016-01-01"), 1e6)
    spoilt = Archive(changed, archive.still).years(2015, 2015)
    torch.testing.assert_close(Scaling.of(train).spread, Scaling.of(spoilt).spread)


def test_steps_over_a_gap_are_no_change(wb1_folder: Path) -> None:
    archive = read(wb1_folder)
    gappy = Archive(archive.fields.isel(time=[0, 1, 2, 200, 201]), archive.still)
    assert Scaling.of(gappy).change.tolist() == pytest.approx([0.25] * 5, rel=1e-3)  # a day adds one


def test_fields_that_never_change_are_refused() -> None:
    with pytest.raises(GreymatchError, match="t2m the same"):
        Scaling.of(archive_of(np.ones((3, 8, 8)), 8))
    with pytest.raises(GreymatchError, match="no two states in a row"):
        Scaling.of(archive_of(np.ones((1, 8, 8)), 8))
