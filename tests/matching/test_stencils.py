from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.stencils import end_velocity, window_derivatives


def clocks(batch: int = 4, length: int = 12, dtype: torch.dtype = torch.float64) -> Tensor:
    """Uneven times, different in each window."""
    steps = 0.3 + torch.rand(batch, length, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return (0.2 * steps).cumsum(1).to(dtype)


def evaluated(polynomial: np.polynomial.Polynomial, times: Tensor) -> Tensor:
    return torch.from_numpy(polynomial(times.double().numpy()))[..., None].to(times.dtype)


@pytest.mark.parametrize("points", [2, 3, 4, 5, 6, 7])
def test_polynomials_of_the_degree_are_exact_at_every_point(points: int):
    times = clocks()
    truth = np.polynomial.Polynomial([0.5, -1.0, 2.0, -0.7, 0.9, -0.3, 0.2][:points])
    first, second = window_derivatives(times, evaluated(truth, times), points)
    torch.testing.assert_close(first, evaluated(truth.deriv(1), times), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(second, evaluated(truth.deriv(2), times), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("points", [3, 4, 5])
@pytest.mark.parametrize("where", [slice(None), slice(0, 1), slice(-1, None)])
def test_order_of_convergence_inside_and_at_both_ends(points: int, where: slice):
    sizes = np.array([0.2, 0.14, 0.1, 0.07, 0.05])
    table = []
    for size in sizes:
        times = size * clocks(batch=30)
        first, second = window_derivatives(times, torch.exp(times)[..., None], points)
        wrong = [derivative[..., 0] - torch.exp(times) for derivative in (first, second)]
        table.append([float(each[:, where].square().mean().sqrt()) for each in wrong])
    slopes = np.polyfit(np.log(sizes), np.log(table), 1)[0]
    np.testing.assert_allclose(slopes, [points - 1, points - 2], atol=0.3)


def test_nodes_are_centred_inside_and_one_sided_at_the_ends():
    """A bump at one point is felt by its two neighbours on each side, and by the ends' whole stencils."""
    times = torch.arange(12, dtype=torch.float64)[None]
    reach = []
    for at in range(12):
        bump = torch.zeros(1, 12, 1, dtype=torch.float64)
        bump[0, at] = 1.0
        _, second = window_derivatives(times, bump, points=5)
        reach.append([i for i in range(12) if abs(float(second[0, i, 0])) > 1e-12])
    assert reach[6] == [4, 5, 6, 7, 8]
    assert reach[0] == [0, 1, 2]
    assert reach[11] == [9, 10, 11]
    assert reach[4] == [0, 1, 2, 3, 4, 5, 6]


def test_even_times_give_the_textbook_weights():
    times = 0.5 * torch.arange(5, dtype=torch.float64)[None]
    weights = []
    for at in range(5):
        bump = torch.zeros(1, 5, 1, dtype=torch.float64)
        bump[0, at] = 1.0
        first, second = window_derivatives(times, bump)
        weights.append([float(first[0, 2, 0]), float(second[0, 2, 0]), float(first[0, 4, 0])])
    centred, curvature, backward = np.array(weights).T
    np.testing.assert_allclose(centred * 0.5 * 12, [1, -8, 0, 8, -1], atol=1e-12)
    np.testing.assert_allclose(curvature * 0.25 * 12, [-1, 16, -30, 16, -1], atol=1e-12)
    np.testing.assert_allclose(backward * 0.5 * 12, [3, -16, 36, -48, 25], atol=1e-12)


@pytest.mark.parametrize("length", [2, 3, 4])
def test_short_windows_use_all_their_points(length: int):
    times = clocks(length=length)
    truth = np.polynomial.Polynomial([0.5, -1.0, 2.0, -0.7][:length])
    first, second = window_derivatives(times, evaluated(truth, times), points=5)
    torch.testing.assert_close(first, evaluated(truth.deriv(1), times), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(second, evaluated(truth.deriv(2), times), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("points", [2, 3, 5, 20])
def test_end_velocity_is_the_derivative_at_the_last_point(points: int):
    times = clocks()
    values = torch.randn(4, 12, 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (first,) = window_derivatives(times, values, points, order=1)
    torch.testing.assert_close(end_velocity(times, values, points), first[:, -1])


def test_states_and_grid_axes_are_independent():
    times = clocks()
    values = torch.randn(4, 12, 2, 3, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    first, second = window_derivatives(times, values)
    one, two = window_derivatives(times, values[:, :, 1, 2, 3:4])
    assert first.shape == second.shape == values.shape
    torch.testing.assert_close(first[:, :, 1, 2, 3:4], one)
    torch.testing.assert_close(second[:, :, 1, 2, 3:4], two)


def test_windows_of_a_batch_are_independent():
    times = clocks()
    values = torch.randn(4, 12, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    first, second = window_derivatives(times, values)
    one, two = window_derivatives(times[2:3], values[2:3])
    torch.testing.assert_close(first[2:3], one)
    torch.testing.assert_close(second[2:3], two)


def test_single_precision_stays_single_and_accurate():
    times = clocks(dtype=torch.float32)
    first, second = window_derivatives(times, torch.sin(times)[..., None] + 10)
    assert first.dtype == second.dtype == torch.float32
    np.testing.assert_allclose(first[..., 0], torch.cos(times), atol=2e-3)
    np.testing.assert_allclose(second[..., 0], -torch.sin(times), atol=0.1)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_time_neither_overflows_nor_vanishes_in_single_precision(unit: float):
    times = clocks(dtype=torch.float32)
    values = torch.sin(times)[..., None]
    plain, bent = window_derivatives(times, values, points=7)
    first, second = window_derivatives(times * unit, values, points=7)
    np.testing.assert_allclose(first * unit, plain, atol=2e-3)
    np.testing.assert_allclose(second.double() * unit**2, bent, atol=0.1)


def test_constants_have_exactly_no_derivative():
    first, second = window_derivatives(clocks(dtype=torch.float32), torch.full((4, 12, 1), 1e6))
    assert not first.any()
    assert not second.any()


def test_gradients_flow_to_the_values():
    values = torch.randn(4, 12, 1, dtype=torch.float64, requires_grad=True)
    window_derivatives(clocks(), values)[0].square().sum().backward()
    assert values.grad is not None
    assert values.grad.isfinite().all()


def test_bad_arguments_are_named():
    times, values = clocks(), torch.zeros(4, 12, 1, dtype=torch.float64)
    with pytest.raises(GreymatchError, match="`points` must be at least 2"):
        window_derivatives(times, values, points=1)
    with pytest.raises(GreymatchError, match="`order` must be 1 or 2"):
        window_derivatives(times, values, order=3)
    with pytest.raises(GreymatchError, match="at least two times"):
        end_velocity(times[:, :1], values[:, :1])
