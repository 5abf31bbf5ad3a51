from __future__ import annotations

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.methods import METHODS, method_named, nothing_known
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal

TANK = Physics(
    lambda t, x, p, u: {"a": -p.k * x.a + u.q, "b": x.a},
    ["a", "b"],
    {"k": Normal(1.0, 0.1)},
    inputs=["q"],
    grid=["x"],
    complete=["b"],
)


def test_methods_are_found_by_name():
    assert all(method_named(name).name == name for name in METHODS)


def test_an_unknown_method_is_an_error_with_a_suggestion():
    with pytest.raises(
        GreymatchError, match=r"`method` must be one of .*'vgb-dm'.*; got 'vgbdm'\. Did you mean 'vgb-dm'\?"
    ):
        method_named("vgbdm")


def test_a_grey_box_gets_the_physics_and_a_black_box_nothing():
    assert METHODS["vgb-dm"].known(TANK) is TANK
    assert METHODS["gb-dm"].known(TANK) is TANK
    assert METHODS["vbb-dm"].known(TANK).free == ()


def test_what_is_left_when_nothing_is_known_keeps_only_the_shape():
    unknown = nothing_known(TANK)
    assert (unknown.states, unknown.order, unknown.inputs, unknown.grid) == (("a", "b"), 1, ("q",), ("x",))
    assert unknown.complete == ()
    x = torch.randn(3, 2, 5)
    assert torch.equal(unknown.evaluate(torch.zeros(3), x, torch.zeros(3, 0), torch.ones(3, 1)), torch.zeros_like(x))
