"""A field whose latents stay is the field, however it is worked out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.models.dynamics import Dynamics
from greymatch.models.flow import Flow
from greymatch.models.latents import Latents
from greymatch.models.residual import MlpField
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import ResidualSettings
from greymatch.training.law import polynomial_of

MEMBERS, LATENTS = 7, 2


def spring(t: Tensor, x, p):
    return {"a": -p.k * x.a, "b": x.a - x.b}


def driven(t: Tensor, x, p, u):
    return {"a": -p.k * x.a + u.push, "b": x.a - x.b}


def dynamics(physics: Physics, **residual: Any) -> Dynamics:
    """With coefficients of all products, and a net that says nothing."""
    states, inputs = len(physics.states), len(physics.inputs)
    scales = Scales(
        *(torch.rand(states) + 0.5 for _ in range(4)),
        *(torch.rand(inputs) + 0.5 for _ in range(2)),
        *(torch.tensor(value) for value in (0.1, 1.0, 2.0)),
    )
    found = Dynamics(physics, scales, LATENTS, ResidualSettings(**residual))
    polynomial = polynomial_of(found)
    polynomial.tell(torch.randn(polynomial.told.shape, dtype=torch.float64))
    return found


def both(found: Dynamics, u: Tensor | None = None) -> tuple[Tensor, Tensor, bool]:
    """d(state)/dt by the flow and by the dynamics, and whether the flow has a law."""
    latents = Latents(torch.randn(MEMBERS, len(found.physics.free)), torch.randn(MEMBERS, LATENTS))
    state, t = torch.randn(MEMBERS, len(found.physics.phase)), torch.rand(MEMBERS)
    flow = Flow.of(found, latents)
    phase = flow.center + state * flow.unit
    return flow(t, state, u), found.velocity(t, phase, latents, u) / flow.unit, flow.law is not None


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["mlp", "polynomial"])
@pytest.mark.parametrize("complete", [(), ("a",), ("a", "b")])
@torch.no_grad()
def test_a_law_of_products_is_the_field(seed: int, order: int, kind: str, complete: tuple[str, ...]):
    physics = Physics(spring, ["a", "b"], {"k": Normal(1, 1)}, order=order, complete=complete)
    found, wanted, lawful = both(dynamics(physics, kind=kind, degree=2))
    assert lawful
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "residual", [{"among": ("a",)}, {"sees_time": True}, {"sees_theta": True}, {"composition": "informed"}]
)
@torch.no_grad()
def test_where_more_is_seen_than_states_the_field_is_asked(seed: int, residual: dict[str, object]):
    found, wanted, lawful = both(dynamics(Physics(spring, ["a", "b"], {"k": Normal(1, 1)}), **residual))
    assert not lawful
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_net_is_asked(seed: int):
    built = dynamics(Physics(spring, ["a", "b"], {"k": Normal(1, 1)}))
    assert isinstance(built.field, MlpField)
    for number in built.field.heads.parameters():
        torch.nn.init.ones_(number)
    found, wanted, lawful = both(built)
    assert not lawful
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pushes", [True, False])
@torch.no_grad()
def test_inputs_matter_where_they_have_a_coefficient(seed: int, pushes: bool):
    built = dynamics(Physics(driven, ["a", "b"], {"k": Normal(1, 1)}, inputs=["push"]))
    polynomial = polynomial_of(built)
    push = len(built.physics.phase) + LATENTS
    of_states = torch.tensor([push not in factors for factors in polynomial.factors])
    polynomial.tell(polynomial.told.double() * (of_states | pushes))
    found, wanted, lawful = both(built, torch.randn(MEMBERS, 1))
    assert lawful != pushes
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_some_members_are_those_of_all(seed: int):
    built = dynamics(Physics(spring, ["a", "b"], {"k": Normal(1, 1)}))
    latents = Latents(torch.randn(MEMBERS, 1), torch.randn(MEMBERS, LATENTS))
    state, t, rows = torch.randn(MEMBERS, 2), torch.rand(MEMBERS), torch.tensor([5, 0, 2])
    flow = Flow.of(built, latents)
    torch.testing.assert_close(flow.select(rows)(t[rows], state[rows]), flow(t, state)[rows])
