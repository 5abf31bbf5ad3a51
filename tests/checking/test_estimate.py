"""Least squares against parameters that are known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from greymatch.checking.estimate import estimate
from greymatch.checking.library import CONSTANT, Column, Library
from greymatch.checking.points import Points
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.systems import SYSTEMS, lorenz, rlc


def test_parameters_are_found_beside_the_term_that_is_missing():
    data = rlc.data("train", trajectories=24)
    points = Points.of(rlc.physics, data, rlc.settings())
    library = Library.of(points)
    missing = library.without(set(library.columns) - {Column("I", "I")})
    found = rlc.physics.push(estimate(points, missing).eps)
    for index, name in enumerate(rlc.physics.params):
        truth = torch.as_tensor(data.truth[name]).float()
        assert float(((found[:, index] - truth) / truth).abs().median()) < 0.03


def test_a_library_has_a_constant_states_and_inputs_in_every_open_equation():
    points = Points.of(rlc.physics, rlc.data("train", trajectories=4), rlc.settings())
    assert [column.term for column in Library.of(points).columns] == [CONSTANT, "U", "I", "V"] * 2


def test_slopes_agree_with_finite_differences():
    points = Points.of(lorenz.physics, lorenz.data("train", trajectories=4), lorenz.settings())
    eps, step = points.drawn(), 1e-2
    for index, slope in enumerate(points.slopes(eps)):
        moved = torch.zeros_like(eps)
        moved[:, index] = step
        difference = (points.known(eps + moved) - points.known(eps - moved)) / (2 * step)
        torch.testing.assert_close(slope, difference.double(), rtol=1e-3, atol=1e-3)


WEIGHT = torch.ones(1, requires_grad=True)


def signed(t: Tensor, x, p):
    return {"angle": torch.sign(p.k) * x.angle}


def weighted(t: Tensor, x, p):
    """What it has of its own asks for a gradient; the parameter does nothing."""
    return {"angle": WEIGHT * x.angle}


@pytest.mark.parametrize("function", [signed, weighted])
def test_what_moves_with_no_parameter_has_no_slope(function):
    system = SYSTEMS["pendulum"]
    points = Points.of(
        Physics(function, ["angle"], {"k": Normal(1, 1)}), system.data("train", trajectories=4), system.settings()
    )
    (slope,) = points.slopes(points.drawn())
    assert slope.dtype == torch.float64
    assert not slope.any()
