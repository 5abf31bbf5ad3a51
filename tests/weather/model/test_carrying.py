from __future__ import annotations

import numpy as np
import pytest

from greymatch.weather.archive import Archive
from greymatch.weather.model.carrying import wind_correlation, winds_at
from greymatch.weather.model.model import WeatherModel


@pytest.mark.parametrize("method", ["vgb-dm", "climode"])
def test_winds_are_in_metres_per_second_for_each_field(network_of, sample: Archive, method: str) -> None:
    found = winds_at(WeatherModel(network_of(loud=0.5, method=method)), sample, sample.times[3:5])
    assert found is not None
    assert found.shape == (2, 2, 5, *sample.fields["z500"].shape[1:])
    assert 0.1 < np.abs(found).mean() < 100


def test_the_black_box_has_no_winds(network_of, sample: Archive) -> None:
    assert winds_at(WeatherModel(network_of(method="black-box")), sample, sample.times[3:4]) is None


def test_correlation_is_of_both_components_about_their_means() -> None:
    rng = np.random.default_rng(0)
    wind, other = rng.normal(size=(2, 50, 2, 16, 32))
    assert wind_correlation(3 * wind + 7, wind) == pytest.approx(1)
    assert wind_correlation(-wind, wind) == pytest.approx(-1)
    assert wind_correlation(other, wind) == pytest.approx(0, abs=0.03)
    assert wind_correlation(wind + other, wind) == pytest.approx(0.5**0.5, abs=0.03)
