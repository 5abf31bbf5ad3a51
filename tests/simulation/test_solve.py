from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.simulation.solve import Field, Status, solve

INF = math.inf
DOUBLE = torch.float64


def zeros(count: int) -> Tensor:
    return torch.zeros(count, dtype=DOUBLE)


def swing(t: Tensor, x: Tensor) -> Tensor:
    return torch.stack([x[:, 1], -x[:, 0]], 1)


def square(t: Tensor, x: Tensor) -> Tensor:
    """x' = x^2 has the solution 1 / (1/x0 - t): finite for x0 < 0, infinite at t = 1/x0 else."""
    return x**2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_oscillator_is_solved_to_tolerance(dtype):
    times = torch.linspace(0.1, 10.0, 40, dtype=DOUBLE).repeat(2, 1)
    start = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=dtype)
    solution = solve(swing, start, zeros(2), times, tolerance=1e-5)
    exact = torch.stack([times[0].cos(), 2 * times[1].sin()]).to(dtype)
    assert solution.status.tolist() == [Status.SOLVED] * 2
    assert solution.values.dtype == dtype
    torch.testing.assert_close(solution.values[..., 0], exact, rtol=0, atol=1e-3)


def test_a_smaller_tolerance_gives_a_smaller_error():
    times = torch.full((1, 1), 20.0, dtype=DOUBLE)
    start = torch.tensor([[1.0, 0.0]], dtype=DOUBLE)
    errors = [
        float((solve(swing, start, zeros(1), times, tolerance).values[0, 0, 0] - math.cos(20.0)).abs())
        for tolerance in (1e-4, 1e-7, 1e-10)
    ]
    assert errors[1] < errors[0] / 100
    assert errors[2] < errors[1] / 100


def test_members_have_their_own_start_times_and_asks():
    starts = torch.tensor([0.0, 5.0, -2.0], dtype=DOUBLE)
    times = torch.tensor([[0.5, 1.0, 3.0], [5.1, 7.0, INF], [-1.0, INF, INF]], dtype=DOUBLE)
    rate = torch.tensor([[-1.0], [0.5], [2.0]], dtype=DOUBLE)
    solution = solve(lambda t, x: rate * t[:, None] * x, torch.ones(3, 1, dtype=DOUBLE), starts, times, 1e-8)
    exact = torch.exp(rate / 2 * (times**2 - starts[:, None] ** 2))
    asked = times.isfinite()
    torch.testing.assert_close(solution.values[..., 0][asked], exact[asked], rtol=1e-6, atol=0)
    assert bool(solution.values[..., 0][~asked].isnan().all())
    assert solution.status.tolist() == [Status.SOLVED] * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_diverging_member_never_sinks_the_others(dtype):
    start = torch.tensor([[-1.0], [1.0], [0.25], [math.nan]], dtype=dtype)
    times = torch.tensor([0.5, 0.9, 1.1, 2.0], dtype=DOUBLE).repeat(4, 1)
    solution = solve(square, start, zeros(4), times)
    values = solution.values[..., 0]
    exact = (1 / (1 / start - times)).to(dtype)
    torch.testing.assert_close(values[[0, 2]], exact[[0, 2]], rtol=1e-4, atol=0)
    torch.testing.assert_close(values[1, :2], exact[1, :2], rtol=1e-3, atol=0)
    assert bool(values[1, 2:].isnan().all())
    assert bool(values[3].isnan().all())
    assert solution.status[[0, 2]].tolist() == [Status.SOLVED] * 2
    assert solution.status[1] in (Status.STEP_TOO_SMALL, Status.NOT_FINITE)
    assert solution.status[3] == Status.NOT_FINITE


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("wall", [math.nan, INF])
def test_a_field_that_is_not_finite_ends_the_member_where_it_stands(dtype, wall):
    """The first member runs into the wall at x = 2 after log(2), the last one starts behind it."""
    start = torch.tensor([[1.0], [-1.0], [3.0]], dtype=dtype)
    times = torch.tensor([0.3, 0.6, 0.8, 2.0], dtype=DOUBLE).repeat(3, 1)
    solution = solve(lambda t, x: torch.where(x > 2, wall, x), start, zeros(3), times)
    exact = (start * times.exp()).to(dtype)
    torch.testing.assert_close(solution.values[0, :2, 0], exact[0, :2], rtol=1e-4, atol=0)
    torch.testing.assert_close(solution.values[1, :, 0], exact[1], rtol=1e-4, atol=0)
    assert bool(solution.values[0, 2:].isnan().all())
    assert bool(solution.values[2].isnan().all())
    assert [bool(code) for code in solution.status] == [True, False, True]
    assert solution.steps < 1000


def test_overflow_is_not_finite():
    solution = solve(lambda t, x: 300 * x, torch.ones(1, 1), zeros(1), torch.tensor([[0.1, 5.0]], dtype=DOUBLE))
    assert solution.status.tolist() == [Status.NOT_FINITE]
    assert solution.values[0, 0, 0] == pytest.approx(math.exp(30), rel=1e-2)
    assert bool(solution.values[0, 1].isnan())


def test_a_member_out_of_steps_is_marked_and_the_others_go_on():
    speed = torch.tensor([[1.0], [1000.0]], dtype=DOUBLE)
    field = lambda t, x: speed * torch.stack([x[:, 1], -x[:, 0]], 1)  # noqa: E731
    start = torch.tensor([[1.0, 0.0]] * 2, dtype=DOUBLE)
    times = torch.tensor([[0.01, 5.0, 10.0]] * 2, dtype=DOUBLE)
    solution = solve(field, start, zeros(2), times, max_steps=200)
    assert solution.status.tolist() == [Status.SOLVED, Status.TOO_MANY_STEPS]
    torch.testing.assert_close(solution.values[0, :, 0], times[0].cos(), rtol=0, atol=1e-3)
    assert solution.values[1, 0, 0] == pytest.approx(math.cos(10.0), abs=1e-3)
    assert bool(solution.values[1, 1:].isnan().all())
    assert solution.steps == 200


def test_the_order_of_the_batch_does_not_matter():
    generator = torch.Generator().manual_seed(3)
    start = torch.randn(20, 1, generator=generator, dtype=DOUBLE)
    times = torch.rand(20, 5, generator=generator, dtype=DOUBLE).cumsum(1)
    order = torch.randperm(20, generator=generator)
    whole = solve(square, start, zeros(20), times)
    mixed = solve(square, start[order], zeros(20), times[order])
    # a processor may round the last few of a batch, which fill no vector, otherwise than the rest
    torch.testing.assert_close(mixed.values, whole.values[order], rtol=1e-13, atol=1e-13, equal_nan=True)
    assert torch.equal(mixed.status, whole.status[order])
    assert 0 < int((whole.status > 0).sum()) < 20


def test_a_member_solved_alone_is_the_same():
    start = torch.tensor([[1.0], [-0.5], [-3.0]], dtype=DOUBLE)
    times = torch.tensor([[0.5, 3.0]] * 3, dtype=DOUBLE)
    together = solve(square, start, zeros(3), times)
    alone = solve(square, start[1:2], zeros(1), times[1:2])
    torch.testing.assert_close(together.values[1:2], alone.values, rtol=1e-12, atol=0)


def test_the_state_keeps_its_shape():
    start = torch.rand(2, 3, 4, 5)
    times = torch.tensor([[0.5, 1.0]] * 2, dtype=DOUBLE)
    solution = solve(lambda t, x: -x, start, zeros(2), times)
    assert solution.values.shape == (2, 2, 3, 4, 5)
    torch.testing.assert_close(solution.values[:, 1], start * math.exp(-1), rtol=1e-3, atol=1e-5)


def test_at_no_distance_the_start_comes_back_whatever_the_field():
    start = torch.tensor([[4.0], [2.0]])
    times = torch.tensor([[1.0, INF], [1.0, 2.0]], dtype=DOUBLE)
    field = lambda t, x: torch.where(x > 3, math.nan, -x)  # noqa: E731
    solution = solve(field, start, torch.ones(2, dtype=DOUBLE), times)
    assert solution.values[:, 0, 0].tolist() == [4.0, 2.0]
    assert solution.values[1, 1, 0] == pytest.approx(2 * math.exp(-1), rel=1e-4)
    assert solution.status.tolist() == [Status.SOLVED] * 2


def test_asking_nothing_is_answered_with_nothing():
    assert solve(square, torch.ones(2, 1), zeros(2), torch.zeros(2, 0, dtype=DOUBLE)).values.shape == (
        2,
        0,
        1,
    )
    assert solve(square, torch.ones(0, 1), zeros(0), torch.zeros(0, 3, dtype=DOUBLE)).values.shape == (
        0,
        3,
        1,
    )
    unasked = solve(square, torch.ones(1, 1), zeros(1), torch.full((1, 2), INF, dtype=DOUBLE))
    assert bool(unasked.values.isnan().all())
    assert unasked.status.tolist() == [Status.SOLVED]


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_unit_of_time_does_not_matter(scale, dtype):
    times = torch.tensor([[0.5, 1.0, 6.0]], dtype=DOUBLE)
    field = lambda t, x: swing(t, x) / scale  # noqa: E731
    start = torch.tensor([[0.0, 1.0]], dtype=dtype)
    solution = solve(field, start, zeros(1), times * scale)
    assert solution.status.tolist() == [Status.SOLVED]
    torch.testing.assert_close(solution.values[..., 0], times.sin().to(dtype), rtol=0, atol=1e-3)


def test_late_times_do_not_cost_precision_in_single_precision_states():
    late = torch.tensor([1.7e9], dtype=DOUBLE)
    field = lambda t, x: torch.cos(t - 1.7e9)[:, None] + 0 * x  # noqa: E731
    solution = solve(field, torch.zeros(1, 1), late, late[:, None] + torch.tensor([[0.5, 2.0]], dtype=DOUBLE))
    torch.testing.assert_close(solution.values[0, :, 0], torch.tensor([0.5, 2.0]).sin(), rtol=0, atol=1e-4)


def test_times_before_the_start_are_refused():
    with pytest.raises(GreymatchError, match=r"member 1 starts at 1 and is asked at 0\.5"):
        solve(square, torch.ones(2, 1), torch.ones(2), torch.tensor([[2.0], [0.5]], dtype=DOUBLE))


def test_every_outcome_says_what_happened():
    assert len({status.message for status in Status}) == len(Status)


def test_members_that_are_done_are_no_longer_asked():
    """Of two oscillators, one turns 50 times as fast; alone, it finishes as it does beside the other."""
    speed = torch.tensor([[1.0], [50.0]], dtype=DOUBLE)
    asked = []

    def of(rows: Tensor) -> Field:
        def field(t: Tensor, x: Tensor) -> Tensor:
            asked.append(len(x))
            return speed[rows] * swing(t, x)

        return field

    start, times = torch.tensor([[1.0, 0.0]] * 2, dtype=DOUBLE), torch.tensor([[0.5, 2.0]] * 2, dtype=DOUBLE)
    together = solve(of(torch.arange(2)), start, zeros(2), times)
    before = len(asked)
    narrowed = solve(of(torch.arange(2)), start, zeros(2), times, narrowed=of)
    torch.testing.assert_close(narrowed.values, together.values, rtol=1e-12, atol=0)
    assert torch.equal(narrowed.status, together.status)
    assert narrowed.steps == together.steps
    assert len(asked) == 2 * before
    assert asked[before:].count(1) > asked[before:].count(2)


def test_nothing_asked_is_nothing_solved():
    nothing = torch.zeros(2, 0, dtype=DOUBLE)
    solution = solve(swing, torch.ones(2, 2), zeros(2), nothing)
    assert solution.values.shape == (2, 0, 2)
    assert (solution.steps, solution.status.tolist()) == (0, [Status.SOLVED] * 2)
    assert solve(swing, torch.ones(0, 2), zeros(0), torch.zeros(0, 3, dtype=DOUBLE)).values.shape == (0, 3, 2)


def test_passed_times_that_are_equal_have_equal_states():
    times = torch.tensor([[0.5, 0.5, 1.0, 1.0]], dtype=DOUBLE)
    values = solve(swing, torch.tensor([[1.0, 0.0]], dtype=DOUBLE), zeros(1), times).values[0, :, 0]
    assert values[0] == values[1]
    assert values[2] == values[3]
    torch.testing.assert_close(values, times[0].cos(), rtol=0, atol=1e-4)
