from __future__ import annotations

import numpy as np
import pytest

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology


def test_without_a_window_it_is_the_mean_over_years(archive_of) -> None:
    values = np.random.default_rng(0).normal(size=(366 + 365, 2, 4, 8)).repeat(4, axis=0)
    archive = archive_of(values, "2012-01-01")
    usual = Climatology.of(archive, window=1)
    same = archive.maps(np.array(["2012-07-01T12", "2013-07-01T12"], dtype="datetime64[ns]"))
    found = usual.at(np.array(["2030-07-01T12"], dtype="datetime64[ns]"))
    np.testing.assert_allclose(found[0], same.mean(0), rtol=1e-5)


def test_a_window_smooths_and_keeps_season_and_hour(two_years: Archive) -> None:
    usual = Climatology.of(two_years)
    winter, summer = (np.array([f"2013-{day}"], dtype="datetime64[ns]") for day in ("01-01T00", "07-02T00"))
    assert usual.at(winter).mean() == pytest.approx(13, abs=0.4)
    assert usual.at(summer).mean() == pytest.approx(-7, abs=0.4)
    noon = np.array(["2013-01-01T12"], dtype="datetime64[ns]")
    assert usual.at(noon).mean() == pytest.approx(7, abs=0.4)
    noise = usual.at(winter) - usual.at(winter).mean()
    assert noise.std() < 0.2  # of 1 in a single map


def test_leap_days_have_a_value_of_their_own(archive_of) -> None:
    """2011 and 2012, each day its own constant: the day of the month, but 1000 on 29 February."""
    times = np.arange("2011-01-01", "2013-01-01", 6, dtype="datetime64[h]").astype("datetime64[D]")
    day = (times - times.astype("datetime64[M]")).astype(int) + 1.0
    day[times == np.datetime64("2012-02-29")] = 1000
    values = np.broadcast_to(day[:, None, None, None], (len(day), 2, 4, 8))
    usual = Climatology.of(archive_of(values, "2011-01-01"), window=1)
    asked = np.array(["2016-02-28", "2016-02-29", "2016-03-01", "2017-03-01", "2017-12-31"], dtype="datetime64[ns]")
    np.testing.assert_allclose(usual.at(asked)[:, 0, 0, 0], [28, 1000, 1, 1, 31])


def test_dates_may_have_any_shape(two_years: Archive) -> None:
    usual = Climatology.of(two_years)
    times = two_years.times[:12].reshape(3, 4)
    assert usual.at(times).shape == (3, 4, 2, 4, 8)
    np.testing.assert_array_equal(usual.at(times)[1, 2], usual.at(times[1, 2:3])[0])


def test_monthly_means_have_their_month(two_years: Archive) -> None:
    monthly = two_years.monthly()
    usual = Climatology.of(monthly)
    assert usual.values.shape == (12, 1, 2, 4, 8)
    march = monthly.maps(np.array(["2010-03-01", "2011-03-01"], dtype="datetime64[ns]")).mean(0)
    np.testing.assert_allclose(usual.at(np.array(["2040-03-01"], dtype="datetime64[ns]"))[0], march, rtol=1e-5)


def test_part_of_a_year_will_not_do(two_years: Archive) -> None:
    part = Archive(two_years.fields.isel(time=slice(0, 400)), two_years.still)
    with pytest.raises(GreymatchError, match="must cover the whole year"):
        Climatology.of(part)
    with pytest.raises(GreymatchError, match="odd number of days"):
        Climatology.of(two_years, window=60)
