from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.weather.sphere import (
    EARTH_RADIUS,
    advection,
    area_weights,
    divergence,
    flux_divergence,
    gradient,
    vorticity,
)

ORDERS = pytest.mark.parametrize("order", [2, 4])
AXIS = (0.3, -0.5, 0.8)


@ORDERS
def test_gradient_of_harmonics_converges_up_to_the_poles(harmonic, points, order_of, order: int) -> None:
    def error(rows: int) -> float:
        here = points(rows, 9 * rows // 4)
        found = gradient(harmonic.value(here.place), 1.0, order)
        exact = harmonic.slopes(here)
        return max(float((a - b).abs().max()) for a, b in zip(found, exact, strict=True))

    assert order_of(error) == pytest.approx(order, abs=0.15)


@ORDERS
def test_divergence_of_a_gradient_is_the_laplacian(harmonic, points, order_of, order: int) -> None:
    def error(rows: int) -> float:
        here = points(rows, 9 * rows // 4)
        laplacian = -harmonic.degree * (harmonic.degree + 1) * harmonic.value(here.place)
        return float((divergence(*harmonic.slopes(here), radius=1.0, order=order) - laplacian).abs().max())

    assert order_of(error) == pytest.approx(order, abs=0.15)


@ORDERS
def test_solid_body_rotation_has_no_divergence_and_known_vorticity(points, order_of, order: int) -> None:
    """About an oblique axis, so that it blows over both poles; the vorticity is 2 axis . place."""
    spin = torch.tensor(AXIS, dtype=torch.float64)

    def errors(rows: int) -> tuple[float, float]:
        here = points(rows, 2 * rows)
        wind = here.rotation(AXIS)
        exact = 2 * (spin[:, None, None] * here.place).sum(0)
        spread, turn = divergence(*wind, radius=1.0, order=order), vorticity(*wind, radius=1.0, order=order)
        return float(spread.abs().max()), float((turn - exact).abs().max())

    assert errors(32)[0] < 0.01  # of a wind of speed 1
    assert order_of(lambda rows: errors(rows)[1]) == pytest.approx(order, abs=0.15)


def test_gradients_have_no_vorticity(harmonic, points, order_of) -> None:
    def error(rows: int) -> float:
        here = points(rows, 9 * rows // 4)
        return float(vorticity(*harmonic.slopes(here), radius=1.0).abs().max())

    coarse = error(48)
    assert coarse < 0.05
    assert coarse < 1e-12 or order_of(error) > 1.8


@ORDERS
def test_advection_carries_a_bump_over_the_pole_and_home(points, order_of, order: int) -> None:
    """Once around the globe about an oblique axis: what comes back is what left."""

    def error(rows: int) -> float:
        here = points(rows, 2 * rows)
        wind = here.rotation((0.0, 1.0, 0.2))
        start = torch.exp(here.place[0])
        moved = carried(start, wind, once_around=2 * math.pi / math.hypot(1.0, 0.2), steps=24 * rows, order=order)
        return float((moved - start).abs().max() / start.max())

    assert error(16) < {2: 0.06, 4: 0.003}[order]
    assert order_of(error, 16) == pytest.approx(order, abs=0.25)


def carried(field: Tensor, wind: tuple[Tensor, Tensor], once_around: float, steps: int, order: int) -> Tensor:
    """Classical Runge-Kutta of df/dt = -v . grad f."""
    h = once_around / steps

    def rate(f: Tensor) -> Tensor:
        return -advection(f, *wind, radius=1.0, order=order)

    for _ in range(steps):
        one = rate(field)
        two = rate(field + h / 2 * one)
        three = rate(field + h / 2 * two)
        field = field + h / 6 * (one + 2 * two + 2 * three + rate(field + h * three))
    return field


def test_nothing_flows_out_of_the_whole_sphere(seed: int) -> None:
    flux = torch.randn(2, 3, 4, 10, 16, dtype=torch.float64)
    out = flux_divergence(flux[0], flux[1], 1.0)
    assert (out * area_weights(out)).mean((-2, -1)).abs().max() < 1e-13
    assert out.abs().max() > 1


def test_divergence_theorem_on_a_cap(points, order_of) -> None:
    """What flows out of the cap north of 45 degrees is what crosses its edge to the south."""

    def error(rows: int) -> float:
        here = points(rows, 2 * rows)
        wind = (here.east[0], here.north[0] + (0.5 + 2 * here.place[2]) * here.north[2])  # grad (x + z/2 + z^2)
        out = divergence(*wind, radius=1.0)
        first = 3 * rows // 4
        across = -(wind[1][first - 1] + wind[1][first]).mean() / 2 * 2 * math.pi * math.cos(math.pi / 4)
        inside = (out * area_weights(out))[first:].sum() * 4 * math.pi / out.numel()
        return float((inside - across).abs())

    assert error(48) < 0.01
    assert order_of(error) == pytest.approx(2, abs=0.2)


def test_flux_form_is_of_order_two_in_the_mean(harmonic, points, order_of) -> None:
    def error(rows: int) -> float:
        here = points(rows, 9 * rows // 4)
        laplacian = -harmonic.degree * (harmonic.degree + 1) * harmonic.value(here.place)
        wrong = flux_divergence(*harmonic.slopes(here), radius=1.0) - laplacian
        return float((wrong.square() * area_weights(wrong)).mean().sqrt())

    assert order_of(error) > 1.8


def test_turning_the_globe_changes_nothing_else(seed: int) -> None:
    east, north = torch.randn(2, 5, 12, 24, dtype=torch.float64)
    for turned, still in (
        (gradient(east.roll(7, -1)), gradient(east)),
        ([divergence(east.roll(7, -1), north.roll(7, -1))], [divergence(east, north)]),
        ([flux_divergence(east.roll(7, -1), north.roll(7, -1))], [flux_divergence(east, north)]),
    ):
        for a, b in zip(turned, still, strict=True):
            torch.testing.assert_close(a, b.roll(7, -1))


def test_mirrored_hemispheres_have_mirrored_derivatives(seed: int) -> None:
    field = torch.randn(12, 24, dtype=torch.float64)
    east, north = gradient(field)
    mirrored_east, mirrored_north = gradient(field.flip(0))
    torch.testing.assert_close(mirrored_east, east.flip(0))
    torch.testing.assert_close(mirrored_north, -north.flip(0))


def test_a_degree_of_latitude_is_111_kilometres(points) -> None:
    here = points(32, 64)
    degrees = torch.rad2deg(torch.asin(here.place[2]))
    _, north = gradient(degrees)
    assert 1 / float(north[16, 0]) == pytest.approx(2 * math.pi * EARTH_RADIUS / 360, rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_precision_of_the_field_is_kept(dtype: torch.dtype, seed: int) -> None:
    field = torch.randn(2, 5, 8, 16, dtype=dtype)
    for result in (*gradient(field), divergence(field, field), flux_divergence(field, field)):
        assert (result.dtype, result.shape) == (dtype, field.shape)


def test_derivatives_can_be_differentiated(seed: int) -> None:
    fields = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f: advection(f[0], f[1], f[2], 1.0, 4), [fields])
    assert torch.autograd.gradcheck(lambda f: divergence(f[0], f[1], 1.0) + flux_divergence(f[1], f[2], 1.0), [fields])


def test_unlike_grids_and_orders_are_refused() -> None:
    with pytest.raises(GreymatchError, match="share one grid"):
        divergence(torch.zeros(8, 16), torch.zeros(8, 18))
    with pytest.raises(GreymatchError, match="`order` must be 2 or 4"):
        gradient(torch.zeros(8, 16), order=3)
