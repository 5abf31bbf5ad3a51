from __future__ import annotations

import numpy as np
import pytest

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.clock import after
from greymatch.weather.labelled import start_dates
from greymatch.weather.references import LEADS, climatology, damped_persistence, fitted_damping, persistence


@pytest.fixture(scope="module")
def remembering(archive_of) -> Archive:
    """Noise that keeps 0.9 of itself for each step in z500, and 0.5 in t2m, about a mean of 100."""
    rng = np.random.default_rng(2)
    keep = np.array([0.9, 0.5])[:, None, None]
    state, states = rng.normal(size=(2, 4, 8)), []
    for _ in range(2 * 365 * 4):
        state = keep * state + np.sqrt(1 - keep**2) * rng.normal(size=(2, 4, 8))
        states.append(state)
    return archive_of(100 + np.stack(states))


@pytest.fixture(scope="module")
def usual(remembering: Archive) -> Climatology:
    mean = np.full((366, 4, 2, 4, 8), 100, dtype=np.float32)
    return Climatology(remembering.names, mean, 6)


def test_persistence_stays(remembering: Archive) -> None:
    starts = remembering.times[[5, 9]]
    forecast = persistence(remembering)(starts)
    assert forecast["t2m"].dims == ("time", "lead", "lat", "lon")
    assert forecast["lead"].values.tolist() == list(LEADS)
    for lead in LEADS:
        np.testing.assert_array_equal(forecast["t2m"].sel(lead=lead).values, remembering.maps(starts)[:, 1])


def test_climatology_is_that_of_the_date_forecast(two_years: Archive) -> None:
    usual = Climatology.of(two_years)
    starts = two_years.times[[100, 700]]
    forecast = climatology(two_years, usual, (12, 24))(starts)
    expected = usual.at(starts + np.timedelta64(24, "h"))
    np.testing.assert_array_equal(forecast["z500"].sel(lead=24).values, expected[:, 0])


def test_damping_is_the_correlation_with_what_follows(remembering: Archive, usual: Climatology) -> None:
    found = fitted_damping(remembering, usual, (6, 24))
    np.testing.assert_allclose(found, [[0.9, 0.5], [0.9**4, 0.5**4]], atol=0.02)


def test_damped_persistence_falls_back_to_the_usual(remembering: Archive, usual: Climatology) -> None:
    starts = remembering.times[[5, 9]]
    forecast = damped_persistence(remembering, remembering, usual, (6, 600))(starts)
    near = 100 + 0.9 * (remembering.maps(starts)[:, 0] - 100)
    np.testing.assert_allclose(forecast["z500"].sel(lead=6).values, near, atol=0.1)
    np.testing.assert_allclose(forecast["z500"].sel(lead=600).values, 100, atol=0.2)


def test_starts_are_all_hours_from_which_every_lead_can_be_judged(remembering: Archive) -> None:
    starts = start_dates(remembering, LEADS)
    assert len(starts) == len(remembering) - 7
    assert {str(time)[11:13] for time in starts} == {"00", "06", "12", "18"}
    assert len(start_dates(remembering, LEADS, every=5)) == pytest.approx(len(starts) / 5, abs=1)
    with pytest.raises(GreymatchError, match="multiples of the archive's step, 6; got"):
        start_dates(remembering, (6, 9))


def test_leads_of_months_go_by_the_calendar() -> None:
    starts = np.array(["2011-12-01", "2012-01-01"], dtype="datetime64[ns]")
    later = after(starts, np.array([1, 2]), "month")
    assert [[str(date)[:10] for date in row] for row in later] == [
        ["2012-01-01", "2012-02-01"],
        ["2012-02-01", "2012-03-01"],
    ]


def test_monthly_persistence(two_years: Archive) -> None:
    monthly = two_years.monthly()
    starts = start_dates(monthly, (1, 5))
    assert len(starts) == 24 - 5
    forecast = persistence(monthly, (1, 5))(starts)
    assert forecast["lead"].attrs["units"] == "months"
    np.testing.assert_array_equal(forecast["t2m"].sel(lead=5).values, monthly.maps(starts)[:, 1])
