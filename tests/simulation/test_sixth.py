"""Runge-Kutta of order six."""

from __future__ import annotations

import itertools
import math

import torch

from greymatch.simulation.sixth import PARTS, SHARES, STAGES, WEIGHTS, stepped
from greymatch.simulation.slopes import numbers


def driven(steps: int) -> float:
    """Error of x' = -2 t x^2 from 1 on, whose solution 1 / (1 + t^2) depends on time and state alike."""
    state, length = torch.ones(1, 1, dtype=torch.float64), 1 / steps
    for index in range(steps):
        begin = index * length
        state = stepped(lambda part, x, at=begin: -2 * (at + part * length / PARTS) * x.square(), length, state)
    return abs(float(state) - 0.5)


def test_errors_fall_with_the_sixth_power_of_the_step():
    errors = [driven(steps) for steps in (8, 16, 32)]
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert all(5.5 < order < 6.5 for order in orders)


def test_each_stage_is_reached_by_as_much_as_its_time_says():
    for stage, shares in zip(STAGES, SHARES, strict=True):
        assert math.isclose(sum(shares), stage / PARTS, abs_tol=1e-14)
    assert math.isclose(sum(WEIGHTS), 1.0)


def test_a_step_without_gradients_leaves_those_of_the_next_alone():
    numbers.cache_clear()
    with torch.inference_mode():
        stepped(lambda part, x: -x, 0.1, torch.ones(2, 1))
    start = torch.ones(2, 1, requires_grad=True)
    stepped(lambda part, x: -x, 0.1, start).sum().backward()
    torch.testing.assert_close(start.grad, torch.full((2, 1), math.exp(-0.1)))
