from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.physics.check import check_physics
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Uniform

ROWS = torch.linspace(-1.0, 1.0, 50)


def check(function: Callable[..., Any], **more: Any) -> None:
    arguments: dict[str, Any] = {"states": ["a"], "params": {"k": Uniform(0.0, 1.0)}, "name": "mine"} | more
    check_physics(Physics(function, **arguments), torch.arange(50.0), ROWS[:, None])


def test_sound_physics_passes():
    check(lambda t, x, p: {"a": -p.k * torch.sin(x.a) + t})


def test_sound_physics_on_a_grid_with_inputs_passes():
    physics = Physics(
        lambda t, x, p, u: {"a": p.d * laplacian(x.a, 1.0, dims=2) + u.heat},
        ["a"],
        {"d": Normal(1.0, 0.1)},
        inputs=["heat"],
        grid=("y", "x"),
    )
    check_physics(physics, torch.zeros(3), torch.randn(3, 1, 4, 4), torch.ones(3, 1))


def test_math_instead_of_torch_is_named():
    with pytest.raises(GreymatchError, match=r"'mine' failed on a batch of 50 rows.*use torch functions, not math"):
        check(lambda t, x, p: {"a": math.sin(x.a)})


def test_the_users_own_error_is_kept():
    def broken(t, x, p):
        raise KeyError("table")

    with pytest.raises(GreymatchError, match="KeyError: 'table'") as caught:
        check(broken)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_declared_error_passes_through_as_it_is():
    with pytest.raises(GreymatchError, match=r"asks for state 'b'"):
        check(lambda t, x, p: {"a": x.b})


def test_not_finite_somewhere_in_the_prior_is_found_with_its_place():
    # sqrt fails only where the prior draws k below 0.2 and so in about 10 of 50 rows
    with pytest.raises(
        GreymatchError, match=r"finite over its prior; state 'a' is not at t=.*x=\{'a': .*p=\{'k': 0\.[01]"
    ) as caught:
        check(lambda t, x, p: {"a": torch.sqrt(p.k - 0.2) * x.a})
    count = int(str(caught.value).split("(")[-1].split(" of 50 rows")[0])
    assert 2 <= count <= 20


def test_not_finite_at_some_rows_of_the_data_names_the_row():
    with pytest.raises(GreymatchError, match=r"at t=0, x=\{'a': -1\.0\}.*\(25 of 50 rows\)"):
        check(lambda t, x, p: {"a": torch.log(x.a)})


@pytest.mark.parametrize(
    "mixing",
    [lambda x: x - x.mean(), lambda x: x / x.norm(), lambda x: x.cumsum(0).flip(0), lambda x: x * len(x)],
)
def test_functions_that_mix_the_rows_of_a_batch_are_refused(mixing: Callable[[torch.Tensor], torch.Tensor]):
    with pytest.raises(GreymatchError, match="must treat rows of a batch independently"):
        check(lambda t, x, p: {"a": mixing(x.a)})


def test_small_units_do_not_hide_a_mixing_of_rows():
    with pytest.raises(GreymatchError, match="must treat rows of a batch independently"):
        check(lambda t, x, p: {"a": 1e-9 * (x.a - x.a.mean() + 3)})


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda u: u.roll(1, dims=1), "with one more it gives other values.*dims=-1"),
        (lambda u: torch.einsum("bx,xy->by", u, torch.eye(6)), "with one more it fails with RuntimeError"),
    ],
)
def test_grid_axes_counted_from_the_front_are_refused(second: Callable[[torch.Tensor], torch.Tensor], message: str):
    physics = Physics(lambda t, x, p: {"u": second(x.u) - x.u}, ["u"], grid=["x"])
    with pytest.raises(GreymatchError, match=message):
        check_physics(physics, torch.zeros(4), torch.randn(4, 1, 6, generator=torch.Generator().manual_seed(0)))
