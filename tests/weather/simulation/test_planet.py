from __future__ import annotations

import numpy as np
import pytest

from greymatch.weather.simulation.planet import RANGES, land_fraction, mountains

LAT, LON = np.arange(32) * 5.625 - 87.1875, np.arange(64) * 5.625


def at(field: np.ndarray, lat: float, lon: float) -> float:
    return float(field[np.abs(LAT - lat).argmin(), np.abs((LON - lon + 180) % 360 - 180).argmin()])


@pytest.mark.parametrize(
    ("lat", "lon"), [(50, 100), (0, 25), (45, -100), (-10, -55), (-25, 135), (-85, 0), (-85, 180), (73, -42), (66, 175)]
)
def test_continents_are_where_they_should_be(lat: float, lon: float) -> None:
    assert at(land_fraction(LAT, LON), lat, lon) > 0.8


@pytest.mark.parametrize(("lat", "lon"), [(0, -150), (30, -40), (-40, 80), (-55, -120), (85, 0), (40, 170)])
def test_oceans_are_where_they_should_be(lat: float, lon: float) -> None:
    assert at(land_fraction(LAT, LON), lat, lon) == 0


def test_about_a_third_is_land() -> None:
    weights = np.cos(np.deg2rad(LAT))[:, None] * np.ones(len(LON))
    assert 0.25 < np.average(land_fraction(LAT, LON), weights=weights) < 0.35


def test_coasts_are_parts_of_cells_and_finer_grids_agree() -> None:
    land = land_fraction(LAT, LON)
    assert ((land > 0) & (land < 1)).any()
    fine = land_fraction(np.arange(64) * 2.8125 - 88.59375, np.arange(128) * 2.8125 - 1.40625)
    np.testing.assert_allclose(fine.reshape(32, 2, 64, 2).mean((1, 3)), land, atol=0.35)
    assert abs(fine.mean() - land.mean()) < 0.01


def test_mountains_stand_on_land_and_nowhere_else() -> None:
    height = mountains(LAT, LON)
    assert height[land_fraction(LAT, LON) == 0].max() == 0
    assert at(height, 33, 88) > 3500
    assert 3000 < height.max() < 6000
    assert all(at(height, one.latitude, one.longitude) > 300 for one in RANGES)
