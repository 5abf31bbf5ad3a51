from __future__ import annotations

import math

import pytest
import torch

from greymatch.simulation.unroll import stage_times, unroll
from greymatch.weather.model.transport import SECONDS, advected, cell, conserved, limited, slopes
from greymatch.weather.sphere import EARTH_RADIUS, area_weights, latitudes, longitudes


def ball(rows: int) -> torch.Tensor:
    """cos(lat) cos(lon): smooth everywhere."""
    like = torch.zeros(1, 1, rows, 2 * rows, dtype=torch.float64)
    return latitudes(like).cos()[:, None] * longitudes(like).cos() + like


@pytest.mark.parametrize("form", ["flux", "advection"])
def test_solid_body_rotation_turns_the_field_at_second_order(form: str) -> None:
    errors = []
    for rows in (16, 32):
        field = ball(rows)
        lat, lon = latitudes(field)[:, None], longitudes(field)
        speed = 40.0
        east, north = speed * lat.cos().expand_as(field), torch.zeros_like(field)
        found = conserved(field, east, north) if form == "flux" else advected(slopes(field, torch.ones(1)), east, north)
        truth = SECONDS * speed / EARTH_RADIUS * lat.cos() * lon.sin()  # -d/dlon of the field
        errors.append(float((found - truth).abs().mean() / truth.abs().mean()))
    assert errors[1] < 0.01
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_flux_neither_makes_nor_loses() -> None:
    field, east, north = torch.randn(3, 2, 5, 8, 16, dtype=torch.float64)
    found = conserved(field, 10 * east, 10 * north)
    assert float((found * area_weights(field)).mean((2, 3)).abs().max()) < 1e-12 * float(found.abs().max())


def test_winds_beyond_the_limit_cross_no_more_cells_than_allowed() -> None:
    storm = torch.full((1, 2, 32, 64), 1e4)
    east, north = limited(storm, -storm, hours=3, courant=2.5)
    high, wide = cell(storm)
    crossed = 3 * SECONDS * (east.abs() / wide + north.abs() / high)
    assert float(crossed.max()) <= 2.5 + 1e-5
    assert (north < 0).all()


def test_usual_winds_pass_the_limit_nearly_unchanged() -> None:
    breeze = torch.full((1, 1, 32, 64), 10.0)
    east, _ = limited(breeze, breeze, hours=3, courant=2.5)
    middle = east[0, 0, 16]
    torch.testing.assert_close(middle, torch.full_like(middle, 10.0), rtol=0.01, atol=0)


def test_slopes_of_a_wind_are_smooth_over_a_pole() -> None:
    """A wind that blows straight over the pole has no slope there, though its parts turn about."""
    like = torch.zeros(2, 16, 32, dtype=torch.float64)
    lon = longitudes(like)
    east, north = -lon.sin() + like[0], lon.cos() + like[0]
    found = slopes(torch.stack([east, north])[None], -torch.ones(2))[1]
    assert float(found[..., -1, :].abs().max()) < 1e-12
    assert math.isclose(float(slopes(torch.stack([east, north])[None], torch.ones(2))[1].abs().max()), 1, rel_tol=0.05)


@pytest.mark.parametrize("form", ["flux", "advection"])
def test_a_storm_is_carried_on_for_ten_days_only_within_the_limit(form: str) -> None:
    torch.manual_seed(0)
    noise, storm, still = torch.randn(1, 1, 16, 32), torch.full((1, 1, 16, 32), 500.0), torch.zeros(1, 1, 16, 32)
    stages = stage_times(torch.zeros(1), torch.arange(3.0, 243.0, 3.0)[None])

    def reached(east: torch.Tensor) -> float:
        def field(t: torch.Tensor, x: torch.Tensor, u: torch.Tensor | None) -> torch.Tensor:
            return conserved(x, east, still) if form == "flux" else advected(slopes(x, torch.ones(1)), east, still)

        return float(unroll(field, noise, stages)[:, -1].abs().nan_to_num(torch.inf, torch.inf).max())

    assert reached(limited(storm, still, hours=3, courant=2.5)[0]) < 6
    assert reached(storm) > 1e3
