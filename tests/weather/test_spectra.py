from __future__ import annotations

import numpy as np
import pytest

from greymatch.weather.spectra import zonal_spectrum
from greymatch.weather.weights import by_area

LAT = (np.arange(8) + 0.5) * 22.5 - 90


@pytest.mark.parametrize(("k", "power"), [(0, 9.0), (3, 4.5), (8, 9.0)])
def test_a_single_wave_has_its_power_in_its_wavenumber(k: int, power: float) -> None:
    wave = 3 * np.cos(k * np.arange(16) * 2 * np.pi / 16) * np.ones((8, 1))
    expected = np.zeros(9)
    expected[k] = power
    np.testing.assert_allclose(zonal_spectrum(wave, LAT), expected, atol=1e-12)


@pytest.mark.parametrize("columns", [15, 16])
def test_powers_add_up_to_the_mean_square(columns: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, 2, 8, columns))
    total = zonal_spectrum(values, LAT).sum(-1)
    np.testing.assert_allclose(total, (values**2 * by_area(LAT)[:, None]).mean((-2, -1)))


def test_blurring_takes_the_short_waves() -> None:
    rough = np.random.default_rng(0).normal(size=(8, 64))
    blurred = (rough + np.roll(rough, 1, -1) + np.roll(rough, -1, -1)) / 3
    ratio = zonal_spectrum(blurred, LAT) / zonal_spectrum(rough, LAT)
    assert ratio[1] > 0.98
    assert ratio[-1] == pytest.approx(1 / 9)
