from __future__ import annotations

import numpy as np
import pytest

from greymatch.weather.weights import by_area, by_cosine

CELLS, WITH_POLES = np.arange(32) * 5.625 - 87.1875, np.linspace(-90, 90, 33)


@pytest.mark.parametrize("lat", [CELLS, WITH_POLES])
def test_weights_have_mean_1(lat: np.ndarray) -> None:
    assert by_cosine(lat).mean() == pytest.approx(1)
    assert by_area(lat).mean() == pytest.approx(1)


def test_on_cells_area_and_cosine_agree() -> None:
    np.testing.assert_allclose(by_area(CELLS), by_cosine(CELLS), rtol=1e-12)


def test_a_row_on_the_pole_has_a_cap() -> None:
    """Of half a step: its area is 1 - cos of that, of 2 in all."""
    assert by_cosine(WITH_POLES)[0] == pytest.approx(0)
    assert by_area(WITH_POLES)[0] / 33 == pytest.approx((1 - np.cos(np.deg2rad(5.625 / 2))) / 2)
