from __future__ import annotations

import numpy as np
import pytest

from greymatch.weather.model.toom import matrices


@pytest.mark.parametrize(("points", "taps"), [((0.0, 1.0, -1.0), 3), ((0.0, 1.0, -1.0, 2.0), 2), ((0.0, 1.0, 3.0), 2)])
def test_products_at_points_are_the_convolution(points: tuple[float, ...], taps: int) -> None:
    tile, kernel, result = matrices(points, taps)
    places, weights = np.random.default_rng(0).normal(size=len(points) + 1), np.arange(1.0, taps + 1)
    np.testing.assert_allclose(
        result @ ((kernel @ weights) * (tile @ places)), np.correlate(places, weights), rtol=1e-12, atol=1e-12
    )
