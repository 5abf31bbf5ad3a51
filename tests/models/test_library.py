from __future__ import annotations

import math

import pytest
import torch

from greymatch.checking.library import Library
from greymatch.checking.points import Points
from greymatch.explain.terms import candidates
from greymatch.models.library import in_equations, monomials, variables
from greymatch.systems import SYSTEMS


def test_inputs_are_the_same_all_over_the_grid():
    phase, inputs = torch.rand(2, 3, 4, 5, 6), torch.rand(2, 3, 1, dtype=torch.float64)
    found = variables(phase, inputs)
    assert found.shape == (2, 3, 5, 5, 6)
    assert found.dtype == phase.dtype
    assert torch.equal(found[:, :, :4], phase)
    assert torch.equal(found[..., 4, 0, 0], found[..., 4, 4, 5])
    assert variables(phase, None) is phase


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_monomials_are_those_that_explanations_are_made_of(degree: int):
    columns = torch.rand(2, 3, 3, dtype=torch.float64) + 0.5
    found = monomials(columns, degree)
    assert found.shape[2] == math.comb(3 + degree, degree)
    named = dict(zip("abc", columns.unbind(2), strict=True))
    for place, term in enumerate(candidates(list("abc"), degree)):
        torch.testing.assert_close(found[:, :, place], term.values(named))


def test_a_degree_that_makes_too_many_is_left_out():
    columns = torch.rand(2, 3, 3)
    assert monomials(columns, 3, most=10).shape[2] == 10
    assert monomials(columns, 3, most=9).shape[2] == 4


def test_a_term_stands_in_its_own_equation_alone():
    terms = torch.rand(2, 3, 4, 5)
    found = in_equations(terms, [0, 2], 3)
    assert found.shape == (2, 3, 3, 5, 8)
    assert torch.equal(found[:, :, 2, :, 4:], terms.movedim(2, -1))
    assert not found[:, :, 1].any()
    assert not found[:, :, 0, :, 4:].any()
    assert in_equations(terms, [], 3).shape == (2, 3, 3, 5, 0)


def test_a_check_sees_the_terms_in_units_of_the_data():
    system = SYSTEMS["rlc"]
    points = Points.of(system.physics, system.data("train", trajectories=12), system.settings())
    library = Library.of(points)
    sizes = dict(zip(library.columns, library.values.square().mean((0, 1)).sqrt().tolist(), strict=True))
    assert {round(size, 2) for column, size in sizes.items() if column.term == "a constant"} == {0.71}
    assert all(0.3 < size < 3 for size in sizes.values())
