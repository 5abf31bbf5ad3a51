from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from greymatch.weather.archive import Archive
from greymatch.weather.fields import FORECAST
from greymatch.weather.model.known import SPIN, Known
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.sphere import EARTH_RADIUS, latitudes, longitudes

FLIPS = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0])
GRID = (32, 64)


def known() -> Known:
    """In which fields are in their own units, and rates in those an hour."""
    units = {"center": torch.zeros(5), "spread": torch.ones(5), "change": torch.full((5,), 6.0)}
    return Known(FORECAST, units | {"height": torch.zeros(GRID)}, FLIPS, 6.0, 6.0, 2.5)


def weather(z500: Tensor | float = 0.0, t850: Tensor | float = 0.0, u10: Tensor | float = 0.0) -> Tensor:
    maps = [z500, t850, 0.0, u10, 0.0]
    return torch.stack([torch.as_tensor(one).expand(GRID) for one in maps])[None].float()


def place() -> tuple[Tensor, Tensor]:
    like = torch.zeros(GRID, dtype=torch.float64)
    return latitudes(like)[:, None], longitudes(like)


def test_the_wind_in_balance_is_that_of_solid_rotation() -> None:
    """z = -r f0 u0 sin^2 / 2 has the wind u0 cos: f u = -dz/dy."""
    lat, _ = place()
    east, north = known().winds(weather(-EARTH_RADIUS * SPIN * 10 * lat.sin() ** 2 / 2))
    middle = (lat.abs() > math.radians(30)) & (lat.abs() < math.radians(70))
    wanted = (10 * lat.cos()).float().expand(GRID)[middle.expand(GRID)]
    torch.testing.assert_close(east[0, 0][middle.expand(GRID)], wanted, rtol=0.15, atol=0)
    assert float(north[0, 0].abs().max()) < 1e-3


def test_what_is_carried_arrives_from_upwind() -> None:
    """A wind of 10 m/s along the equator carries cos(lon) by -u df/dx."""
    lat, lon = place()
    said = known()(weather(t850=torch.cos(lon), u10=10 * lat.cos()))
    carried = said[0, 5 + 1]  # by the wind near the ground: the second of two, t850
    row = GRID[0] // 2
    torch.testing.assert_close(carried[row], (3600 * 10 / EARTH_RADIUS * torch.sin(lon)).float(), rtol=0.01, atol=1e-4)


def test_long_waves_of_z500_travel_west_at_rest() -> None:
    """As Rossby's do: the vorticity of the Earth alone is carried."""
    lat, lon = place()
    wave = lat.cos() ** 3 * lat.sin()
    said = known()(weather(wave * torch.cos(3 * lon)))
    raised = said[0, 2 * 5 + 2].double()
    # d/dt cos(3 lon - w t) is w sin(3 lon)
    speed = (raised * torch.sin(3 * lon)).mean(1) * wave[:, 0]
    assert float(speed.sum()) < 0


def test_still_air_everywhere_alike_does_nothing() -> None:
    assert float(known()(weather(z500=5e4, t850=280.0)).abs().max()) < 1e-2


def test_without_its_fields_or_in_the_black_box_nothing_is_known(network_of, sample: Archive) -> None:
    assert network_of().dynamics.outset.known is not None
    assert network_of(method="black-box").dynamics.outset.known is None
    assert network_of(transport__known="nothing").dynamics.outset.known is None
    few = replace(sample, fields=sample.fields[["z500", "t2m"]])
    assert WeatherNetwork.fitting(WeatherSettings(), few).dynamics.outset.known is None
