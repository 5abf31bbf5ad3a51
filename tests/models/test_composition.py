from __future__ import annotations

import pytest
import torch

from greymatch.models.composition import COMPOSITIONS

PHYSICS = torch.tensor([[2.0, 0.0], [-3.0, 5.0]])
SCALE = torch.tensor([10.0, 100.0])


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_no_residual_leaves_the_physics_as_it_is(name: str):
    assert torch.equal(COMPOSITIONS[name](PHYSICS, torch.zeros_like(PHYSICS), SCALE), PHYSICS)


@pytest.mark.parametrize("name", ["additive", "informed"])
def test_a_residual_adds_in_units_of_the_scale(name: str):
    total = COMPOSITIONS[name](PHYSICS, torch.full_like(PHYSICS, 0.5), SCALE)
    assert total.tolist() == [[7.0, 50.0], [2.0, 55.0]]


def test_a_factor_multiplies_and_cannot_add_where_the_physics_is_zero():
    total = COMPOSITIONS["multiplicative"](PHYSICS, torch.full_like(PHYSICS, 0.5), SCALE)
    assert total.tolist() == [[3.0, 0.0], [-4.5, 7.5]]


def test_only_the_informed_residual_sees_the_physics():
    assert [name for name, made in COMPOSITIONS.items() if made.sees_physics] == ["informed"]
