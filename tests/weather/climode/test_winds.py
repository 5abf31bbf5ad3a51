from __future__ import annotations

import pytest
import torch

from greymatch.weather.climode.winds import inferred_winds, smooth, trend
from greymatch.weather.model.transport import SECONDS, USUAL_WIND, carried, slopes
from greymatch.weather.settings import InferenceSettings
from greymatch.weather.sphere import EARTH_RADIUS, area_weights, latitudes, longitudes

ROWS, SPEED, STEP = 16, 20.0, 6.0
FLIPS = torch.ones(3)


def turned(hours: float) -> torch.Tensor:
    """Three patterns (3, lat, lon) that a solid rotation of `SPEED` at the equator has carried for some hours."""
    like = torch.zeros(ROWS, 2 * ROWS, dtype=torch.float64)
    lat, lon = latitudes(like)[:, None], longitudes(like) - SECONDS * SPEED * hours / EARTH_RADIUS
    waves = [lat.cos() ** k * torch.cos(k * lon + k) + 0.3 * lat.sin() * lat.cos() * lon.sin() for k in (1, 2, 3)]
    return torch.stack(waves)


def past() -> torch.Tensor:
    return torch.stack([turned(-2 * STEP), turned(-STEP), turned(0)])[None]


def unit(states: torch.Tensor) -> torch.Tensor:
    return states.diff(dim=1).square().mean((0, 1, 3, 4)).sqrt()[:, None, None] / STEP


def test_the_trend_is_of_second_order_where_three_states_are_known() -> None:
    times = torch.tensor([-2.0, -1.0, 0.0], dtype=torch.float64)[None, :, None, None, None]
    curved = 3 * times + 2 * times**2
    assert float(trend(curved, 1.0)) == pytest.approx(3)
    assert float(trend(curved[:, 1:], 1.0)) == pytest.approx(1)


@pytest.mark.parametrize("form", ["flux", "advection"])
def test_the_winds_explain_the_change_of_a_turning_field(form: str) -> None:
    states = past()
    found = inferred_winds(states, FLIPS, STEP, unit(states), form, InferenceSettings(ridge=1e-3, iterations=60))
    east, north = (USUAL_WIND * found).chunk(2, 1)
    now, weights = states[:, -1], area_weights(states)
    wanted = trend(states, STEP)
    left = wanted - carried(now, slopes(now, FLIPS), east, north, form)
    assert float((left.square() * weights).mean() / (wanted.square() * weights).mean()) < 0.02


def test_advection_is_found_with_its_direction() -> None:
    """What moves along its own stripes is not seen, so that the winds are those of the rotation or less."""
    states = past()
    found = inferred_winds(states, FLIPS, STEP, unit(states), "advection", InferenceSettings(ridge=1e-2, smoothing=6))
    east, north = (USUAL_WIND * found).chunk(2, 1)
    tropics = east[0, :, ROWS // 2 - 2 : ROWS // 2 + 2]
    assert 0.5 * SPEED < float(tropics.mean()) < 1.1 * SPEED
    assert float(north.square().mean()) < 0.3 * float(east.square().mean())


def test_a_field_that_stays_has_no_wind() -> None:
    states = turned(0).expand(1, 3, -1, -1, -1)
    found = inferred_winds(states, FLIPS, STEP, torch.ones(3, 1, 1), "flux", InferenceSettings())
    assert float(found.abs().max()) == 0


def test_a_wind_straight_over_the_pole_is_smooth_already() -> None:
    lon = longitudes(torch.zeros(16, 64, dtype=torch.float64))
    over = torch.stack([-lon.sin().expand(16, -1), lon.cos().expand(16, -1)])  # the same direction at every place
    torch.testing.assert_close(smooth(over, 1)[:, -1], over[:, -1], rtol=0, atol=0.01)
