from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.clock import after
from greymatch.weather.labelled import Predictor, labelled
from greymatch.weather.references import climatology, persistence
from greymatch.weather.scores import evaluate
from greymatch.weather.weights import by_cosine

LEADS = (6, 18)


@pytest.fixture(scope="module")
def usual(two_years: Archive) -> Climatology:
    return Climatology.of(two_years)


@pytest.fixture(scope="module")
def starts(two_years: Archive) -> np.ndarray:
    return two_years.times[40:48]


@pytest.fixture
def forecast_with(two_years: Archive) -> Callable[..., Predictor]:
    """A predictor that is the truth with something done to it."""

    def made(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Predictor:
        def predict(starts: np.ndarray) -> xr.Dataset:
            valid = after(starts, np.array(LEADS), 6)
            return labelled(two_years, starts, LEADS, change(two_years.maps(valid).astype(np.float64), valid))

        return predict

    return made


def test_a_constant_error_is_every_error(forecast_with, two_years: Archive, usual: Climatology, starts) -> None:
    scores = evaluate(forecast_with(lambda truth, _: truth + 2), two_years, usual, LEADS, starts)
    for name in ("rmse", "rmse_paper", "mae", "bias"):
        np.testing.assert_allclose(scores[name].values, 2, rtol=1e-6)
    for name in ("rmse_std", "rmse_paper_std"):
        np.testing.assert_allclose(scores[name].values, 0, atol=1e-4)
    np.testing.assert_allclose(scores["rmse_map"].values, 2, rtol=1e-5)
    assert scores["rmse"].dims == ("lead", "field")
    assert scores.attrs["starts"] == 8


def test_roots_are_averaged_by_the_paper_and_squares_by_weatherbench(
    forecast_with, two_years: Archive, usual: Climatology, starts
) -> None:
    size = np.arange(1.0, 9.0)
    made = forecast_with(lambda truth, _: truth + size[:, None, None, None, None])
    scores = evaluate(made, two_years, usual, LEADS, starts, together=8)
    np.testing.assert_allclose(scores["rmse_paper"].values, 4.5, rtol=1e-6)
    np.testing.assert_allclose(scores["rmse"].values, np.sqrt(25.5), rtol=1e-6)
    np.testing.assert_allclose(scores["rmse_paper_std"].values, size.std(), rtol=1e-5)


def test_an_error_counts_by_the_area_it_covers(forecast_with, two_years: Archive, usual: Climatology, starts) -> None:
    def at_one_latitude(truth: np.ndarray, _: np.ndarray) -> np.ndarray:
        return truth + np.array([0.0, 0.0, 0.0, 5.0])[:, None]

    scores = evaluate(forecast_with(at_one_latitude), two_years, usual, LEADS, starts)
    band = (1 - np.sin(np.pi / 4)) / 2  # of the sphere, north of 45 degrees
    np.testing.assert_allclose(scores["rmse"].values, 5 * np.sqrt(band), rtol=1e-5)
    np.testing.assert_allclose(scores["rmse_paper"].values, 5 * np.sqrt(band), rtol=1e-5)


@pytest.mark.parametrize(("factor", "expected"), [(1.0, 1.0), (0.1, 1.0), (-2.0, -1.0), (0.0, 0.0)])
def test_correlation_sees_the_shape_of_anomalies_alone(
    forecast_with, two_years: Archive, usual: Climatology, starts, factor: float, expected: float
) -> None:
    def scaled(truth: np.ndarray, valid: np.ndarray) -> np.ndarray:
        return usual.at(valid) + factor * (truth - usual.at(valid))

    scores = evaluate(forecast_with(scaled), two_years, usual, LEADS, starts)
    np.testing.assert_allclose(scores["acc"].values, expected, atol=1e-5)
    np.testing.assert_allclose(scores["acc_std"].values, 0, atol=1e-3)


def test_the_paper_correlates_about_the_mean_of_the_truth(two_years: Archive, usual: Climatology, starts) -> None:
    """Against the definition, in two passes over all forecasts at once."""
    predict = persistence(two_years, LEADS)
    scores = evaluate(predict, two_years, usual, LEADS, starts, together=3)
    weights = by_cosine(two_years.fields["lat"].values)[:, None]
    truth = two_years.maps(after(starts, np.array(LEADS), 6))[:, 1, 0].astype(np.float64)
    forecast = predict(starts)["z500"].sel(lead=18).values.astype(np.float64)
    centre = truth.mean(0)
    a, b = forecast - centre, truth - centre
    expected = (weights * a * b).sum() / np.sqrt((weights * a**2).sum() * (weights * b**2).sum())
    assert float(scores["acc_paper"].sel(lead=18, field="z500")) == pytest.approx(expected, rel=1e-6)


def test_batches_do_not_matter(two_years: Archive, usual: Climatology, starts) -> None:
    one, all_at_once = (
        evaluate(persistence(two_years, LEADS), two_years, usual, LEADS, starts, together=n) for n in (1, 100)
    )
    xr.testing.assert_allclose(one, all_at_once)


def test_climatology_is_better_than_persistence_after_noise(two_years: Archive, usual: Climatology) -> None:
    """White noise of spread 1: persistence misses by sqrt(2) and the daily cycle, climatology by 1."""
    starts = two_years.times[:800]
    hold = evaluate(persistence(two_years, (24,)), two_years, usual, (24,), starts)
    normal = evaluate(climatology(two_years, usual, (24,)), two_years, usual, (24,), starts)
    np.testing.assert_allclose(hold["rmse"].values, np.sqrt(2), rtol=0.03)
    np.testing.assert_allclose(normal["rmse"].values, 1, rtol=0.05)
    assert (normal["acc"] == 0).all()


def test_spectra_show_what_is_blurred(forecast_with, two_years: Archive, usual: Climatology, starts) -> None:
    def blurred(truth: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.broadcast_to(truth.mean(-1, keepdims=True), truth.shape)

    scores = evaluate(forecast_with(blurred), two_years, usual, LEADS, starts)
    assert float(scores["spectrum"].isel(wavenumber=slice(1, None)).max()) < 1e-9
    assert float(scores["spectrum_truth"].isel(wavenumber=slice(1, None)).min()) > 0.01
    np.testing.assert_allclose(scores["spectrum"][..., 0], scores["spectrum_truth"][..., 0], rtol=1e-5)


def ensemble_about(truth: np.ndarray, members: int, spread: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = (*truth.shape[:2], members, *truth.shape[2:])
    centre = truth + spread * rng.normal(size=truth.shape)  # so that the truth is one more draw
    return centre[:, :, None] + spread * rng.normal(size=shape)


def test_an_ensemble_drawn_as_the_truth_is_has_known_scores(
    forecast_with, two_years: Archive, usual: Climatology
) -> None:
    """The fair CRPS of a normal law is spread / sqrt(pi), whatever the number of members; spread over skill is 1."""
    made = forecast_with(lambda truth, _: ensemble_about(truth, 5, 3.0, 0))
    scores = evaluate(made, two_years, usual, LEADS, two_years.times[:200], together=200)
    np.testing.assert_allclose(scores["crps"].values, 3 / np.sqrt(np.pi), rtol=0.03)
    np.testing.assert_allclose(scores["spread"].values, 3, rtol=0.02)
    np.testing.assert_allclose(scores["spread_skill"].values, 1, rtol=0.03)


def test_without_members_there_are_no_ensemble_scores(two_years: Archive, usual: Climatology, starts) -> None:
    assert "crps" not in evaluate(persistence(two_years, LEADS), two_years, usual, LEADS, starts)


def test_monthly_forecasts_are_judged_too(two_years: Archive) -> None:
    monthly = two_years.monthly()
    usual = Climatology.of(monthly)
    scores = evaluate(climatology(monthly, usual, (1, 2)), monthly, usual, (1, 2))
    assert scores["lead"].attrs["units"] == "months"
    assert float(scores["rmse"].max()) < 0.2  # means of some 120 states, about that of two of them
    assert float(evaluate(persistence(monthly, (1, 2)), monthly, usual, (1, 2))["rmse"].min()) > 2


def test_faulty_requests_are_told(two_years: Archive, usual: Climatology, starts) -> None:
    with pytest.raises(GreymatchError, match="at least one date"):
        evaluate(persistence(two_years, LEADS), two_years, usual, LEADS, starts[:0])
    with pytest.raises(GreymatchError, match="lacks t2m"):
        evaluate(lambda s: persistence(two_years, LEADS)(s)[["z500"]], two_years, usual, LEADS, starts)
    with pytest.raises(GreymatchError, match="no state at"):
        evaluate(persistence(two_years, LEADS), two_years, usual, LEADS, two_years.times[-1:])
