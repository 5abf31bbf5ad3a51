"""The step against facts that hold for any such pair: order conditions and orders of convergence."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from greymatch.simulation.slopes import columns
from greymatch.simulation.tsit5 import ERROR, INTERPOLANT, NODES, STAGES, Step

DOUBLE = torch.float64
STARTS = torch.linspace(1.0, 5.0, 9, dtype=DOUBLE)


def turning(t: Tensor, x: Tensor) -> Tensor:
    """x' = t * (turned x): from (1, 0), cos and sin of t^2 / 2."""
    return t[:, None] * torch.stack([-x[:, 1], x[:, 0]], 1)


def exact(t: Tensor) -> Tensor:
    return torch.stack([(t**2 / 2).cos(), (t**2 / 2).sin()], 1)


def taken(t: Tensor, size: float) -> Step:
    return Step.taken(turning, t, exact(t), turning(t, exact(t)), torch.full_like(t, size))


def test_stages_stand_where_their_weights_lead():
    for node, weights in zip(NODES, STAGES, strict=True):
        assert sum(weights) == pytest.approx(node, abs=1e-12)
    assert sum(ERROR) == pytest.approx(0, abs=1e-12)


def test_the_interpolant_begins_and_ends_with_the_step():
    weights = torch.tensor(INTERPOLANT, dtype=DOUBLE)
    powers = torch.arange(1, 5, dtype=DOUBLE)
    last = torch.tensor([*STAGES[-1], 0.0], dtype=DOUBLE)
    torch.testing.assert_close(weights.sum(0), last, rtol=0, atol=1e-10)
    slope = torch.zeros(7, dtype=DOUBLE)
    slope[-1] = 1  # at its end, that of the last stage
    torch.testing.assert_close(powers @ weights, slope, rtol=0, atol=1e-10)
    step = taken(torch.tensor([0.3, 1.0], dtype=DOUBLE), 0.2)
    both = torch.tensor([0, 1, 0, 1])
    found = step.at(both, torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=DOUBLE))
    torch.testing.assert_close(found, torch.cat([step.before, step.after]), rtol=0, atol=1e-12)


def slope_of(errors: list[float], sizes: list[float]) -> float:
    return math.log(errors[0] / errors[-1]) / math.log(sizes[0] / sizes[-1])


@pytest.mark.parametrize(("part", "order"), [(1.0, 6), (0.37, 5)])
def test_the_error_of_one_step_falls_with_its_order(part: float, order: int):
    """One more than that of many steps: 5 at its end, 4 within."""
    start, sizes = STARTS, [0.04, 0.02, 0.01]
    errors = []
    for size in sizes:
        found = taken(start, size).at(torch.arange(len(start)), torch.full_like(start, part))
        errors.append(float((found - exact(start + part * size)).norm()))
    assert slope_of(errors, sizes) == pytest.approx(order, abs=0.25)


def test_the_estimated_error_is_that_of_a_step_of_order_4():
    start, sizes = STARTS, [0.04, 0.02, 0.01]
    estimates = [float(taken(start, size).error().norm()) for size in sizes]
    assert slope_of(estimates, sizes) == pytest.approx(5, abs=0.25)
    step = taken(start, 0.2)
    assert float(step.error().norm()) > float((step.after - exact(start + 0.2)).norm())


@pytest.mark.parametrize("shape", [(5, 2), (2, 5)])
def test_how_states_lie_in_memory_changes_no_digit_that_counts(shape: tuple[int, int]):
    state, t = torch.rand(shape, dtype=DOUBLE), torch.rand(shape[0], dtype=DOUBLE)
    dt = torch.full_like(t, 0.1)
    found, plain = (
        Step.taken(lambda t, x: t[:, None] - x, t, start, t[:, None] - start, dt) for start in (columns(state), state)
    )
    assert columns(state).stride() == ((1, 5) if shape == (5, 2) else (5, 1))
    rows = torch.arange(shape[0])
    torch.testing.assert_close(found.after, plain.after, rtol=1e-13, atol=0)
    torch.testing.assert_close(found.error(), plain.error(), rtol=1e-9, atol=1e-15)
    torch.testing.assert_close(found.at(rows, t), plain.at(rows, t), rtol=1e-13, atol=0)


def test_steps_that_are_joined_tell_the_states_of_each():
    one, two = taken(STARTS, 0.1), taken(STARTS, 0.2)
    rows, part = torch.arange(2 * len(STARTS)), torch.full((2 * len(STARTS),), 0.3, dtype=DOUBLE)
    wanted = torch.cat([step.at(rows[: len(STARTS)], part[: len(STARTS)]) for step in (one, two)])
    torch.testing.assert_close(Step.joined([one, two]).at(rows, part), wanted, rtol=1e-13, atol=0)
