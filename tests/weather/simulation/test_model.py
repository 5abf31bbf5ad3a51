"""The dynamical core under our forcing: stable, and like weather. Skipped where the core is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dinosaur")

from greymatch.weather.simulation.forcing import DAY, Strength, Sun
from greymatch.weather.simulation.model import Model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
LAT = np.arange(32) * 5.625 - 87.1875
NORTH, TROPICS = (LAT > 30) & (LAT < 70), np.abs(LAT) < 60
JANUARY, JULY = 15, 196
Maps = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


def run(model: Model, state: Any, first: int, days: int) -> tuple[Any, Maps]:
    seen = []
    for day in range(first, first + days):
        state, maps = model.day(state, day * DAY)
        seen.append(maps)
    return state, {name: np.stack([maps[name] for maps in seen]) for name in seen[0]}


@pytest.fixture(scope="module")
def grown(model: Model) -> tuple[Any, Maps]:
    """From rest, a hundred days to the middle of January."""
    state, _ = run(model, model.at_rest(0), 365 + JANUARY - 100, 80)
    return run(model, state, 365 + JANUARY - 20, 20)


def test_weather_grows_and_stays_in_bounds(grown: tuple[Any, Maps]) -> None:
    maps = grown[1]
    assert all(np.isfinite(values).all() for values in maps.values())
    assert 200 < maps["t2m"].min() < maps["t2m"].max() < 335
    assert 42000 < maps["z500"].min() < maps["z500"].max() < 59000
    assert np.abs(maps["v500"]).max() < 100
    assert maps["z500"].std(axis=(0, 1)).max() > 300  # it is not the same every day


def test_jets_blow_from_the_west_and_trades_from_the_east(grown: tuple[Any, Maps]) -> None:
    aloft, below = (grown[1][name].mean(axis=(0, 1, 3)) for name in ("u500", "u10"))
    for middle in ((LAT > 25) & (LAT < 60), (LAT < -25) & (LAT > -60)):
        assert 8 < aloft[middle].max() < 45
    assert below[np.abs(LAT) < 20].mean() < 0
    assert np.abs(grown[1]["u10"]).max() < 60


def test_land_has_a_day_and_the_sea_has_none(model: Model, grown: tuple[Any, Maps]) -> None:
    daily = np.ptp(grown[1]["t2m"].mean(0), axis=0)
    land = model.view.land
    over_land, over_sea = daily[(land > 0.8) & TROPICS[:, None]].mean(), daily[(land == 0) & TROPICS[:, None]].mean()
    assert 3 < over_land < 15
    assert over_sea < 1


def test_summer_is_warmer_than_winter_and_more_so_over_land(model: Model, grown: tuple[Any, Maps]) -> None:
    """The same weather, gone on with under the sun of January and of July for 25 days."""
    north = {}
    for name, first in (("january", JANUARY), ("july", JULY)):
        _, maps = run(model, grown[0], first, 25)
        north[name] = maps["t2m"][-8:].mean(axis=(0, 1))
    change = north["july"] - north["january"]
    land, sea = (change[NORTH[:, None] & kind].mean() for kind in (model.view.land > 0.8, model.view.land == 0))
    assert land > 8
    assert land > sea + 4
    assert change[(LAT < -30) & (LAT > -70)].mean() < 0


def test_the_same_seed_gives_the_same_weather(model: Model) -> None:
    one, other, another = (run(model, model.at_rest(seed), 0, 2)[1]["z500"] for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, other)
    assert np.abs(one - another).max() > 1


def test_without_forcing_by_day_there_is_none_aloft() -> None:
    still = Model(Strength(daily_heating=0.0))
    day = still.day(still.at_rest(0), 0.0)[1]
    assert {name: values.shape for name, values in day.items()}["z500"] == (4, 32, 64)


def test_wind_and_geopotential_are_in_balance(grown: tuple[Any, Maps]) -> None:
    """In middle latitudes the wind aloft blows along the height lines: u = -1/f dz/dy, to a third of it."""
    z, u = (grown[1][name].reshape(-1, 32, 64) for name in ("z500", "u500"))
    middle = slice(22, 28)  # 39 to 67 degrees north
    slope = np.asarray(np.gradient(z, np.deg2rad(5.625) * 6.371e6, axis=1))[:, middle]
    coriolis = 2 * 7.292e-5 * np.sin(np.deg2rad(LAT[middle]))[:, None]
    assert np.corrcoef((-slope / coriolis).ravel(), u[:, middle].ravel())[0, 1] > 0.9


def test_the_sun_stands_highest_at_noon_and_averages_to_nothing() -> None:
    latitude, longitude = np.deg2rad(np.array([0.0, 45.0, -80.0])), np.deg2rad(np.array([0.0, 90.0, 180.0]))
    seconds = JULY * DAY + np.arange(96) * 900.0
    heights = np.stack([np.asarray(Sun(latitude, longitude).anomaly(s)) for s in seconds])
    np.testing.assert_allclose(heights.mean(0), 0, atol=2e-3)
    noon = (np.argmax(heights, axis=0) * 0.25)[:2]
    assert noon.tolist() == pytest.approx([12.0, 6.0], abs=0.3)  # UTC
    assert np.ptp(heights[:, 2]) < 1e-6  # polar night
