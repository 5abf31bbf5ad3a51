from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.judging import Court
from greymatch.weather.labelled import start_dates
from greymatch.weather.monthly import LEADS, MonthlyModel, departures
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.splits import Splits

ROWS, COLUMNS = 4, 8
TINY = {"net.width": 4, "net.source_width": 4, "net.depth": 1, "net.history": 2, "net.latents": 4, "training.batch": 4}
SETTINGS = WeatherSettings().updated({**TINY, "training.steps": 3, "training.validations": 1})


@pytest.fixture(scope="module")
def monthly() -> Archive:
    """Eight years of a season of 10 with noise of 1 about it, that knows nothing of the month before."""
    rng, months = np.random.default_rng(0), np.arange("2011-01", "2019-01", dtype="datetime64[M]")
    season = 10 * np.cos(2 * np.pi * np.arange(len(months)) / 12)[:, None, None]
    axes = {"lat": (np.arange(ROWS) + 0.5) * 180 / ROWS - 90, "lon": np.arange(COLUMNS) * 360 / COLUMNS}
    maps = {
        name: (("time", "lat", "lon"), (season + rng.normal(size=(len(months), ROWS, COLUMNS))).astype(np.float32))
        for name in ("z500", "t2m")
    }
    flat = {name: (("lat", "lon"), np.zeros((ROWS, COLUMNS))) for name in ("orography", "land")}
    fields = xr.Dataset(maps, axes | {"time": months.astype("datetime64[ns]")})
    return Archive(fields, xr.Dataset(flat, axes), "month")


@pytest.fixture(scope="module")
def known(monthly: Archive) -> MonthlyModel:
    return MonthlyModel.learned(monthly, SETTINGS, Splits())


def test_departures_are_nothing_in_the_mean_of_each_month(monthly: Archive) -> None:
    train = monthly.years(2011, 2015)
    left = departures(train, Climatology.of(train)).fields["z500"].groupby("time.month").mean("time")
    np.testing.assert_allclose(left, 0, atol=1e-5)


def test_states_some_hours_apart_are_refused(drifting: Archive, monthly: Archive) -> None:
    with pytest.raises(GreymatchError, match="must be of monthly means"):
        departures(drifting, Climatology.of(monthly))


def test_of_noise_nothing_is_kept_so_that_it_is_as_good_as_climatology(monthly: Archive, known: MonthlyModel) -> None:
    assert known.damping.shape == (5, 2)
    assert known.damping.max() < 0.35
    train, test = monthly.years(2011, 2015), monthly.years(2017, 2018)
    court = Court.of(train, test, LEADS, start_dates(test, LEADS))
    scores = {name: court.judge(predict)["rmse"] for name, predict in court.references().items()}
    ours = court.judge(known.predictor(monthly))["rmse"]
    assert float((ours / scores["climatology"]).max()) < 1.05
    assert float((ours / scores["persistence"]).max()) < 0.8


def test_without_damping_the_departure_is_carried_on(monthly: Archive, known: MonthlyModel) -> None:
    whole = replace(known, damping=np.ones((5, 2)))
    start = monthly.times[[70]]
    said = whole.predictor(monthly, [1])(start)["t2m"].values[0, 0] - known.usual.at(monthly.times[71])[1]
    was = monthly.maps(start)[0, 1] - known.usual.at(start)[0, 1]
    assert np.corrcoef(said.ravel(), was.ravel())[0, 1] > 0.5
