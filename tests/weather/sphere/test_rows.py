from __future__ import annotations

import numpy as np
import pytest

from greymatch.errors import GreymatchError
from greymatch.weather.sphere.rows import check_globe

CENTRED, AROUND = np.arange(-78.75, 90, 22.5), np.arange(0, 360, 45.0)


def test_equal_cells_of_a_whole_globe_serve_from_any_meridian_on() -> None:
    check_globe(CENTRED.tolist(), AROUND.tolist())
    check_globe(CENTRED.tolist(), (AROUND - 157.5).tolist())


@pytest.mark.parametrize(
    ("latitude", "longitude", "said"),
    [
        (np.linspace(-90, 90, 9), AROUND, "latitudes must be .* 9 x 8 equal cells, -80 to 80; they are -90 to 90"),
        (CENTRED[4:], AROUND, "they are 11.25 to 78.75. Regrid"),
        (CENTRED, AROUND / 2, "longitudes must be .* 0 to 315; they are 0 to 157.5"),
        (CENTRED, np.arange(0, 360, 24.0), "even number of longitudes, .* they have 8 and 15"),
    ],
)
def test_rows_at_poles_and_regions_are_refused(latitude: np.ndarray, longitude: np.ndarray, said: str) -> None:
    with pytest.raises(GreymatchError, match=said):
        check_globe(latitude.tolist(), longitude.tolist())
