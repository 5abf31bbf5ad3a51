from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.forecasts import read_forecasts, write_forecasts
from greymatch.weather.labelled import labelled
from greymatch.weather.references import persistence
from greymatch.weather.scores import evaluate

LEADS = (6, 12, 24)


@pytest.fixture
def store(two_years: Archive, tmp_path: Path) -> Path:
    write_forecasts(persistence(two_years, LEADS), two_years.times[:50], tmp_path / "f.zarr", two_years, together=20)
    return tmp_path / "f.zarr"


def test_the_layout_is_that_of_weatherbench_2(store: Path, two_years: Archive) -> None:
    data = xr.open_zarr(store, decode_timedelta=True)
    assert data["2m_temperature"].dims == ("time", "prediction_timedelta", "longitude", "latitude")
    assert data["geopotential"].dims == ("time", "prediction_timedelta", "level", "longitude", "latitude")
    assert data["prediction_timedelta"].values.tolist() == [lead * 3600 * 10**9 for lead in LEADS]
    assert data["level"].values.tolist() == [500]
    assert data["2m_temperature"].dtype == np.float32
    np.testing.assert_array_equal(data["time"].values, two_years.times[:50])
    np.testing.assert_array_equal(data["latitude"].values, two_years.fields["lat"].values)


def test_what_is_written_is_read_and_scored_alike(store: Path, two_years: Archive) -> None:
    usual, starts = Climatology.of(two_years), two_years.times[10:40]
    written = evaluate(read_forecasts(store, two_years.names), two_years, usual, LEADS, starts)
    direct = evaluate(persistence(two_years, LEADS), two_years, usual, LEADS, starts)
    xr.testing.assert_allclose(written, direct)


def test_members_have_an_axis_of_their_own(two_years: Archive, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(4, 3, 5, 2, 4, 8))
    predict = lambda starts: labelled(two_years, starts, LEADS, values[: len(starts)])  # noqa: E731
    write_forecasts(predict, two_years.times[:4], tmp_path / "e.zarr", two_years)
    data = xr.open_zarr(tmp_path / "e.zarr", decode_timedelta=True)
    assert data.sizes["realization"] == 5
    again = read_forecasts(tmp_path / "e.zarr", two_years.names)(two_years.times[:4])
    np.testing.assert_allclose(
        again["t2m"].transpose("time", "lead", "member", ...).values, values[..., 1, :, :], rtol=1e-6
    )


def test_nothing_is_overwritten_and_months_are_refused(store: Path, two_years: Archive, tmp_path: Path) -> None:
    with pytest.raises(GreymatchError, match="is there already"):
        write_forecasts(persistence(two_years, LEADS), two_years.times[:2], store, two_years)
    monthly = two_years.monthly()
    with pytest.raises(GreymatchError, match="monthly means have no place"):
        write_forecasts(persistence(monthly, (1,)), monthly.times[:2], tmp_path / "m.zarr", monthly)
