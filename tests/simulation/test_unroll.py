from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.simulation.unroll import stage_times, unroll

START = torch.tensor([[1.0, 0.0], [0.5, -1.0], [2.0, 0.3]], dtype=torch.float64)


def swing(t: Tensor, x: Tensor, u: Tensor | None) -> Tensor:
    """x'' = -x, whose solution is a rotation."""
    return torch.stack([x[:, 1], -x[:, 0]], 1)


def rotated(start: Tensor, angle: Tensor) -> Tensor:
    c, s = angle.cos(), angle.sin()
    return torch.stack([c * start[:, :1] + s * start[:, 1:], c * start[:, 1:] - s * start[:, :1]], -1)


def own_times() -> tuple[Tensor, Tensor]:
    """Starts and uneven times, different for each member."""
    steps = 0.2 + 0.3 * torch.rand(3, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    start = torch.tensor([0.0, 5.0, -2.0], dtype=torch.float64)
    return start, start[:, None] + steps.cumsum(1)


def test_each_member_is_solved_on_its_own_times():
    start, times = own_times()
    found = unroll(swing, START, stage_times(start, times, 8), 8)
    torch.testing.assert_close(found, rotated(START, times - start[:, None]), rtol=0, atol=1e-6)


def test_the_error_falls_with_the_fourth_power_of_the_step():
    start, times = own_times()
    exact = rotated(START, times - start[:, None])
    errors = [float((unroll(swing, START, stage_times(start, times, n), n) - exact).abs().max()) for n in (1, 2, 4, 8)]
    orders = [math.log2(a / b) for a, b in itertools.pairwise(errors)]
    assert orders == pytest.approx([4, 4, 4], abs=0.25)


def test_a_field_of_time_and_inputs_keeps_the_order():
    """x' = t u(t) with u = cos t: x = cos t + t sin t - 1."""
    times = torch.linspace(0.5, 4.0, 8, dtype=torch.float64)[None]
    exact = times.cos() + times * times.sin() - 1
    errors = []
    for n in (1, 2, 4):
        stages = stage_times(torch.zeros(1, dtype=torch.float64), times, n)
        found = unroll(
            lambda t, x, u: (t * u[:, 0])[:, None] if u is not None else x,
            torch.zeros(1, 1, dtype=torch.float64),
            stages,
            n,
            stages.cos()[..., None],
        )
        errors.append(float((found[..., 0] - exact).abs().max()))
    assert [math.log2(a / b) for a, b in itertools.pairwise(errors)] == pytest.approx([4, 4], abs=0.25)


def test_gradients_are_those_of_finite_differences():
    start, times = own_times()
    stages = stage_times(start, times)
    weight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    begin = START.clone().requires_grad_()

    def solution(weight: Tensor, begin: Tensor) -> Tensor:
        return unroll(lambda t, x, u: torch.sin(weight * x) - 0.1 * t[:, None], begin, stages)

    assert torch.autograd.gradcheck(solution, (weight, begin))


def test_times_not_asked_for_cost_no_step_and_harm_no_gradient():
    start, times = own_times()
    padded = times.clone()
    padded[1, 5:] = torch.inf
    padded[2] = torch.inf
    begin = START.clone().requires_grad_()
    found = unroll(lambda t, x, u: torch.sin(x) - t[:, None], begin, stage_times(start, padded))
    assert torch.equal(found[1, 5:], found[1, 4:5].expand(3, -1))
    assert torch.equal(found[2], START[2].expand(8, -1))
    found.sum().backward()
    assert begin.grad is not None
    assert bool(begin.grad.isfinite().all())
    whole = unroll(lambda t, x, u: torch.sin(x) - t[:, None], START, stage_times(start, times))
    torch.testing.assert_close(found[0], whole[0])
    torch.testing.assert_close(found[1, :5], whole[1, :5])


def test_fields_on_grids_are_solved_pixel_by_pixel():
    start = torch.rand(2, 1, 4, 3, dtype=torch.float64)
    times = torch.tensor([[0.1, 0.2], [0.3, 0.5]], dtype=torch.float64)
    found = unroll(lambda t, x, u: -x, start, stage_times(torch.zeros(2, dtype=torch.float64), times))
    wanted = start[:, None] * torch.exp(-times)[..., None, None, None]
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)


def test_substeps_must_be_positive():
    with pytest.raises(GreymatchError, match=r"`substeps` must be at least 1; got 0"):
        stage_times(torch.zeros(1), torch.ones(1, 1), 0)
