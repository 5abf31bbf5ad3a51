from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.physics.operators import divergence, gradient, laplacian

# Profiles on [0, 1] that meet each boundary (zero at the wall for Dirichlet) and are otherwise general.
PROFILES: dict[str, Callable[[Tensor], Tensor]] = {
    "periodic": lambda x: torch.exp(torch.sin(2 * math.pi * x)),
    "neumann": lambda x: torch.exp(torch.cos(math.pi * x)) * (1 + 0.3 * torch.cos(3 * math.pi * x)),
    "dirichlet": lambda x: x * (1 - x) * torch.exp(2 * x),
}
each_boundary = pytest.mark.parametrize("boundary", PROFILES)

# torch 2.13's first forward-mode derivative scripts some functions of its own
forward_mode = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


def centres(count: int) -> tuple[Tensor, float]:
    return (torch.arange(count, dtype=torch.float64) + 0.5) / count, 1 / count


def slope(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return torch.func.vmap(torch.func.grad(function))


def curvature(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return torch.func.vmap(torch.func.grad(torch.func.grad(function)))


def order(error_at: Callable[[int], Tensor], count: int = 64) -> float:
    """The slope of the largest error against the step, from two grids."""
    coarse, fine = (error_at(n).abs().max().item() for n in (count, 2 * count))
    return math.log2(coarse / fine)


@each_boundary
def test_laplacian_has_order_two_up_to_the_walls(boundary: str) -> None:
    f = PROFILES[boundary]

    def error(count: int) -> Tensor:
        x, dx = centres(count)
        return laplacian(f(x), (dx,), boundary) - curvature(f)(x)

    assert order(error) == pytest.approx(2, abs=0.1)


@each_boundary
def test_gradient_has_order_two_up_to_the_walls(boundary: str) -> None:
    f = PROFILES[boundary]

    def error(count: int) -> Tensor:
        x, dx = centres(count)
        return gradient(f(x), (dx,), boundary)[0] - slope(f)(x)

    assert order(error) == pytest.approx(2, abs=0.1)


def test_neumann_has_order_one_at_a_wall_with_a_third_derivative() -> None:
    def f(x: Tensor) -> Tensor:
        return x**2 * (1 - x) ** 2

    def error(count: int) -> Tensor:
        x, dx = centres(count)
        return laplacian(f(x), (dx,), "neumann") - curvature(f)(x)

    assert order(lambda n: error(n)[[0, -1]]) == pytest.approx(1, abs=0.1)
    assert order(lambda n: error(n)[1:-1]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("rows", "columns"), list(itertools.product(PROFILES, repeat=2)))
def test_two_axes_with_their_own_steps_and_boundaries(rows: str, columns: str) -> None:
    f, g = PROFILES[rows], PROFILES[columns]

    def errors(count: int) -> tuple[Tensor, Tensor, Tensor]:
        (y, dy), (x, dx) = centres(count), centres(2 * count)
        field = f(y)[:, None] * g(x)
        u_y, u_x = gradient(field, (dy, dx), (rows, columns))
        second = curvature(f)(y)[:, None] * g(x) + f(y)[:, None] * curvature(g)(x)
        return (
            laplacian(field, (dy, dx), (rows, columns)) - second,
            u_y - slope(f)(y)[:, None] * g(x),
            u_x - f(y)[:, None] * slope(g)(x),
        )

    for part in range(3):
        assert order(lambda n, part=part: errors(n)[part], 48) == pytest.approx(2, abs=0.15)


def test_divergence_of_a_flow_has_order_two() -> None:
    f, g = PROFILES["dirichlet"], PROFILES["periodic"]

    def error(count: int) -> Tensor:
        (y, dy), (x, dx) = centres(count), centres(count + 7)
        flow = (f(y)[:, None] * torch.cos(x), torch.cos(y)[:, None] * g(x))
        expected = slope(f)(y)[:, None] * torch.cos(x) + torch.cos(y)[:, None] * slope(g)(x)
        return divergence(flow, (dy, dx), ("dirichlet", "periodic")) - expected

    assert order(error) == pytest.approx(2, abs=0.2)


def test_dirichlet_value_is_met_at_the_wall_and_may_differ_by_row() -> None:
    x, dx = centres(20)
    cubic = 1 + x - 2 * x**2 + x**2 * (1 - x)  # 1 at the left wall and 0 at the right one
    wall = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    field = torch.stack([cubic, 3 * cubic])
    second = laplacian(field, (dx,), "dirichlet", value=wall)
    exact = -4 + 2 - 6 * x
    torch.testing.assert_close(second[0, :-1], exact[:-1])  # exact for cubics
    torch.testing.assert_close(second[1, :-1], 3 * exact[:-1])
    constant = torch.full((5, 6), 2.5)
    assert laplacian(constant, 0.1, "dirichlet", dims=2, value=2.5).abs().max() < 1e-3


def test_walls_lie_half_a_step_outside() -> None:
    field = torch.tensor([0.25, 0.75, 1.25, 1.75], dtype=torch.float64)  # 0 at -0.25 in steps of 0.5
    (slopes,) = gradient(field, (0.5,), "dirichlet")
    assert slopes[0].item() == pytest.approx(1.0)


@pytest.mark.parametrize("boundary", ["periodic", "neumann"])
def test_constants_have_no_laplacian_and_no_gradient(boundary: str) -> None:
    field = torch.full((2, 5, 6), 0.1)
    assert not laplacian(field, (0.3, 0.7), boundary).any()
    assert not any(part.any() for part in gradient(field, (0.3, 0.7), boundary))


@pytest.mark.parametrize("boundary", ["periodic", "neumann"])
def test_laplacian_conserves_the_sum(boundary: str, seed: int) -> None:
    field = torch.randn(3, 8, 9, dtype=torch.float64)
    total = laplacian(field, (0.5, 0.25), boundary).sum((-1, -2))
    torch.testing.assert_close(total, torch.zeros_like(total), rtol=0, atol=1e-10)


def test_periodic_divergence_of_a_gradient_sums_to_zero(seed: int) -> None:
    field = torch.randn(3, 8, 9, dtype=torch.float64)
    flux = [field.exp() * part for part in gradient(field, (0.5, 0.25))]
    total = divergence(flux, (0.5, 0.25)).sum((-1, -2))
    torch.testing.assert_close(total, torch.zeros_like(total), rtol=0, atol=1e-10)


@each_boundary
def test_heat_decays_at_the_known_rate_of_its_slowest_mode(boundary: str) -> None:
    x, dx = centres(40)
    mode, rate = {
        "periodic": (torch.cos(2 * math.pi * x), 4 * math.pi**2),
        "neumann": (torch.cos(math.pi * x), math.pi**2),
        "dirichlet": (torch.sin(math.pi * x), math.pi**2),
    }[boundary]
    u, dt = mode, 1e-4
    for _ in range(500):
        u = u + dt * laplacian(u, (dx,), boundary)
    assert math.log((mode @ mode / (u @ mode)).item()) / (500 * dt) == pytest.approx(rate, rel=5e-3)


@each_boundary
def test_the_discrete_laplacian_only_damps(boundary: str) -> None:
    matrix = laplacian(torch.eye(24, dtype=torch.float64), (1.0,), boundary)
    values = torch.linalg.eigvals(matrix)
    assert values.real.max() < 1e-10
    assert values.imag.abs().max() < 1e-6


def test_batch_axes_are_free_and_do_not_mix(seed: int) -> None:
    field = torch.randn(2, 3, 4, 5)
    whole = laplacian(field, 0.1, "dirichlet", dims=2)
    lines = laplacian(field, (0.1,))
    assert whole.shape == field.shape
    torch.testing.assert_close(whole[1, 2], laplacian(field[1, 2], (0.1, 0.1), "dirichlet"))
    torch.testing.assert_close(lines[1, 2, 3], laplacian(field[1, 2, 3], (0.1,)))
    torch.testing.assert_close(torch.func.vmap(lambda u: laplacian(u, (0.1, 0.1), "dirichlet"))(field), whole)


def test_three_axes(seed: int) -> None:
    field = torch.randn(2, 4, 5, 6, dtype=torch.float64)
    steps = (0.5, 0.3, 0.2)
    parts = [laplacian(field.movedim(axis, -1), (steps[axis - 1],)).movedim(-1, axis) for axis in (1, 2, 3)]
    torch.testing.assert_close(laplacian(field, steps), sum(parts))
    assert len(gradient(field, 0.1, dims=3)) == 3


@forward_mode
@each_boundary
def test_forward_mode_is_the_linear_operator_itself(boundary: str, seed: int) -> None:
    field, direction = torch.randn(2, 3, 6, 7, dtype=torch.float64).unbind()

    def everything(u: Tensor) -> Tensor:
        return laplacian(u, (0.5, 0.2), boundary) + divergence(gradient(u, (0.5, 0.2), boundary), (0.5, 0.2))

    value, tangent = torch.func.jvp(everything, (field,), (direction,))[:2]
    torch.testing.assert_close(value, everything(field))
    torch.testing.assert_close(tangent, everything(direction))
    (adjoint,) = torch.func.vjp(everything, field)[1](direction)
    torch.testing.assert_close((adjoint * field).sum(), (direction * value).sum())


def test_steps_may_be_zero_dimensional_tensors() -> None:
    x = torch.linspace(0, 1, 5)
    field = torch.randn(4, 5, 5)
    torch.testing.assert_close(
        laplacian(field, x[1] - x[0], dims=2),  # pyright: ignore[reportArgumentType]
        laplacian(field, (0.25, 0.25)),
    )


U = torch.zeros(4, 5, 6)
BAD_ARGUMENTS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: laplacian(U, (1, 1), "neuman"),
        r"`boundary` must be one of .*got 'neuman'. Did you mean 'neumann'",
    ),
    (lambda: laplacian(U, (1, 1), ("periodic",)), r"`boundary` must be one name or 2, one per grid axis"),
    (lambda: laplacian(U, (1, 1), None), r"`boundary` must be one of periodic.*got None"),  # pyright: ignore[reportArgumentType]
    (lambda: gradient(U[0, 0], (1, 1)), r"`field` must have at least 2 axes.*got shape \(6,\)"),
    (lambda: laplacian(U[:2], (1, 1, 1)), r"`field` must have at least 3 points.*\(2, 5, 6\).*batch axis"),
    (lambda: laplacian(U, 0.1), r"`spacing` must say how many grid axes.*0\.1.*\(dx,\).*`dims`"),
    (lambda: laplacian(U, (0.1,), dims=2), r"`spacing` must hold 2 steps, one per grid axis; got \(0\.1,\)"),
    (lambda: laplacian(U, ()), r"`spacing` must hold at least one step; got \(\)"),
    (lambda: laplacian(U, (0.1, -0.1)), r"`spacing` must be positive and finite; got -0\.1"),
    (lambda: laplacian(U, "0.1m", dims=1), r"`spacing` must be positive and finite; got '0\.1m'"),  # pyright: ignore[reportArgumentType]
    (lambda: laplacian(U, 0.1, dims=0), r"`dims` must be a whole number from 1 on; got 0"),
    (lambda: laplacian(U, (1, 1), value=1.0), r"`value` needs a 'dirichlet' boundary; got 'periodic'"),
    (lambda: divergence(U, 0.1), r"`components` must be a list or tuple of tensors.*got Tensor"),  # pyright: ignore[reportArgumentType]
    (lambda: divergence((U, U[0]), 0.1), r"`components` must share one shape; got \[\(4, 5, 6\), \(5, 6\)\]"),
    (lambda: divergence((U, U), (0.1,)), r"`spacing` must hold 2 steps"),
]


@pytest.mark.parametrize(("call", "message"), BAD_ARGUMENTS, ids=[message for _, message in BAD_ARGUMENTS])
def test_bad_arguments_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(GreymatchError, match=message):
        call()
