"""Least squares against parameters that are known."""

from __future__ import annotations

import torch

from greymatch.checking.estimate import estimate
from greymatch.checking.library import CONSTANT, Column, Library
from greymatch.checking.points import Points
from greymatch.systems import lorenz, rlc


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
