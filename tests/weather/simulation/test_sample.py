"""Two and a half days of a simulated archive, in both layouts, that the tests carry with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from greymatch.weather.archive import Archive
from greymatch.weather.fields import FORECAST
from greymatch.weather.read import read

SAMPLE = Path(__file__).parents[1] / "sample"
RANGE = {"z500": (42000, 59000), "t850": (200, 320), "t2m": (190, 335), "u10": (-60, 60), "v10": (-60, 60)}


@pytest.fixture(params=["wb1", "wb2.zarr"])
def sample(request: pytest.FixtureRequest) -> Archive:
    return read(SAMPLE / request.param)


def test_it_is_small() -> None:
    assert sum(file.stat().st_size for file in SAMPLE.rglob("*") if file.is_file()) < 300_000


def test_it_says_that_it_is_simulated(sample: Archive) -> None:
    assert sample.simulated
    assert "not ERA5" in sample.fields.attrs["title"]


def test_it_has_a_leap_day_on_the_grid_of_weatherbench(sample: Archive) -> None:
    assert [str(sample.times[i])[:13] for i in (0, 4, -1)] == ["2012-02-28T00", "2012-02-29T00", "2012-03-01T06"]
    assert sample.fields.sizes == {"time": 10, "lat": 32, "lon": 64}
    np.testing.assert_allclose(sample.fields["lat"].values, np.arange(32) * 5.625 - 87.1875)


def test_its_weather_is_plausible(sample: Archive) -> None:
    values = sample.at([0], 10).values[0]
    for i, name in enumerate(FORECAST):
        low, high = RANGE[name]
        assert values[:, i].min() > low
        assert values[:, i].max() < high
    assert sample.constants["orography"].max() > 1500
    assert 0.25 < float(sample.constants["land"].mean()) < 0.4


def test_both_layouts_hold_the_same() -> None:
    one, other = read(SAMPLE / "wb1"), read(SAMPLE / "wb2.zarr")
    for name in FORECAST:
        np.testing.assert_allclose(one.fields[name].values, other.fields[name].values, rtol=1e-6)
    for name in ("orography", "land"):
        np.testing.assert_allclose(one.constants[name].values, other.constants[name].values, atol=1e-3)
