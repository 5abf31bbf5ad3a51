from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Fixed, LogNormal, Normal, TruncatedNormal, Uniform, prior_from


def swing(t, x, p):
    return {"angle": -(p.omega**2) * torch.sin(x.angle)}


def coupled(t, x, p):
    return {"a": -p.k * x.a + x.b_dot, "b": p.k * x.a_dot - x.b}


def heat(t, x, p):
    return {"u": p.d * laplacian(x.u, 1.0, dims=2)}


def driven(t, x, p, u):
    return {"level": u.inflow - p.k * x.level + t}


PENDULUM = Physics(swing, ["angle"], {"omega": Uniform(0.5, 3.0)}, order=2)
COUPLED = Physics(coupled, ["a", "b"], {"k": Normal(1.0, 0.1)}, order=2)
HEAT = Physics(heat, ["u"], {"d": LogNormal(1.0, 0.1)}, grid=("y", "x"))
DRIVEN = Physics(driven, ["level"], {"k": 2.0}, inputs=["inflow"])


def test_order_two_gives_the_acceleration_at_the_phase():
    phase = torch.tensor([[0.5, 9.0], [-1.0, 9.0]])
    found = PENDULUM.evaluate(torch.zeros(2), phase, torch.tensor([[2.0], [3.0]]))
    torch.testing.assert_close(found, torch.tensor([[-4 * math.sin(0.5)], [9 * math.sin(1.0)]]))


def test_two_states_of_order_two_see_positions_before_velocities():
    assert COUPLED.phase == ("a", "b", "a_dot", "b_dot")
    found = COUPLED.evaluate(torch.zeros(1), torch.tensor([[2.0, 3.0, 5.0, 7.0]]), torch.tensor([[10.0]]))
    assert found.tolist() == [[-10 * 2.0 + 7.0, 10 * 5.0 - 3.0]]


def test_inputs_and_time_reach_the_function():
    found = DRIVEN.evaluate(torch.tensor([0.5]), torch.tensor([[3.0]]), torch.tensor([[2.0]]), torch.tensor([[10.0]]))
    assert found.tolist() == [[10.0 - 6.0 + 0.5]]


def test_the_laplacian_of_a_wave_on_a_grid_is_its_eigenvalue():
    size = 8
    wave = torch.sin(2 * math.pi * torch.arange(size) / size).expand(size, size)
    fields = torch.stack([wave, wave.T])[:, None]
    eigenvalue = 2 * math.cos(2 * math.pi / size) - 2
    found = HEAT.evaluate(torch.zeros(2), fields, torch.tensor([[1.0], [3.0]]))
    torch.testing.assert_close(found, eigenvalue * fields * torch.tensor([1.0, 3.0]).reshape(2, 1, 1, 1))


def example(physics: Physics, *batch: int) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*batch, *shape, generator=generator, dtype=torch.float64)  # noqa: E731
    u = draw(len(physics.inputs)) if physics.inputs else None
    return draw(), draw(len(physics.phase), *[5] * len(physics.grid)), draw(len(physics.params)), u


@pytest.mark.parametrize("physics", [PENDULUM, COUPLED, HEAT, DRIVEN])
def test_a_batch_of_one_is_a_row_of_many(physics: Physics):
    t, x, theta, u = example(physics, 7)
    many = physics.evaluate(t, x, theta, u)
    one = physics.evaluate(t[3:4], x[3:4], theta[3:4], None if u is None else u[3:4])
    assert torch.equal(one[0], many[3])


@pytest.mark.parametrize("physics", [PENDULUM, COUPLED, HEAT, DRIVEN])
def test_points_of_a_window_are_a_batch_like_any_other(physics: Physics):
    t, x, theta, u = example(physics, 3, 4)
    nested = physics.evaluate(t, x, theta, u)
    flat = physics.evaluate(t.flatten(), x.flatten(0, 1), theta.flatten(0, 1), None if u is None else u.flatten(0, 1))
    assert torch.equal(nested.flatten(0, 1), flat)


def test_numbers_and_broadcast_values_fill_the_shape():
    physics = Physics(lambda t, x, p: {"a": 1, "b": p.k, "c": torch.zeros(())}, ["a", "b", "c"], {"k": 3.0})
    found = physics.evaluate(torch.zeros(2), torch.zeros(2, 3), torch.full((2, 1), 3.0))
    assert found.tolist() == [[1.0, 3.0, 0.0]] * 2
    assert found.dtype == torch.float32


def test_a_plain_number_follows_the_state_to_its_device():
    physics = Physics(lambda t, x, p: {"a": 1.0, "b": x.a}, ["a", "b"])
    there = torch.zeros(2, 2, device="meta")
    assert physics.evaluate(there[:, 0], there, there[:, :0]).device.type == "meta"


def test_fixed_parameters_stand_between_free_ones():
    params = {"a": Normal(1.0, 2.0), "g": Fixed(9.81), "b": LogNormal(2.0, 0.5), "h": 3.0, "c": Uniform(0.0, 1.0)}
    physics = Physics(lambda t, x, p: {"x": p.g}, ["x"], params)
    assert physics.free == ("a", "b", "c")
    eps = torch.tensor([[0.5, 0.0, 0.0], [-1.0, 1.0, 0.7]], dtype=torch.float64)
    theta = physics.push(eps)
    assert theta[0].tolist() == [2.0, 9.81, 2.0, 3.0, 0.5]
    torch.testing.assert_close(physics.pull(theta), eps)


@pytest.mark.parametrize("params", [{}, {"g": Fixed(9.81)}])
def test_without_free_parameters_there_are_no_latents(params: dict[str, Any]):
    physics = Physics(lambda t, x, p: {"x": x.x}, ["x"], params)
    theta = physics.push(torch.zeros(4, 0))
    assert theta.shape == (4, len(params))
    torch.testing.assert_close(theta, torch.full((4, len(params)), 9.81))
    assert physics.pull(theta).shape == (4, 0)


def test_the_description_survives_json_and_gives_back_the_declaration():
    params = {"a": TruncatedNormal(0.3, 0.2, low=0.0), "g": 9.81, "b": Uniform(1 / 3, 0.1 + 0.7)}
    physics = Physics(
        driven, ["level"], params, inputs=["inflow"], grid=["x"], complete=["level"], order=1, name="tank"
    )
    said = json.loads(json.dumps(physics.describe()))
    again = Physics(driven, **{**said, "params": {key: prior_from(value) for key, value in said["params"].items()}})
    assert again.describe() == physics.describe()
    assert again.params == physics.params
    assert again == physics


def test_physics_cannot_be_changed():
    with pytest.raises(AttributeError):
        PENDULUM.order = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function": 3}, r"`function` must be callable as f\(t, x, p\); got 3"),
        ({"states": "angle"}, r"`states` must be a list of names; got the text 'angle'. Write \['angle'\]"),
        ({"states": []}, "`states` must hold at least 1 and no name twice; got \\[\\]"),
        ({"states": ["angle", "angle"]}, "no name twice"),
        ({"states": ["the angle"]}, "`states` must be plain names.*got 'the angle'"),
        ({"states": ["_hidden"]}, "must be plain names.*got '_hidden'"),
        ({"states": [3]}, "must be plain names.*got 3"),
        ({"params": {"my omega": 1.0}}, "`params` must be plain names.*'my omega'"),
        ({"params": {"omega": "large"}}, "must be a prior or a number; got 'large'"),
        ({"params": ["omega"]}, r"`params` must map names to priors.*got \['omega'\]"),
        ({"order": 3}, "`order` must be 1 or 2; got 3"),
        ({"order": True}, "`order` must be 1 or 2; got True"),
        ({"complete": ["angel"]}, r"`complete` must name states; got 'angel'.*Did you mean 'angle'\?"),
        ({"states": ["angle", "angle_dot"], "order": 2}, "must not end in another's '_dot'.*angle_dot"),
        ({"inputs": ["torque"]}, r"must take f\(t, x, p, u\) because `inputs` are declared; got swing\(t, x, p\)"),
        (
            {"function": lambda t, x: {}, "name": "short"},
            r"`function` 'short' must take f\(t, x, p\); got short\(t, x\)",
        ),
        ({"function": lambda t, x, p, u: {}}, r"must take f\(t, x, p\)"),
    ],
)
def test_a_wrong_declaration_is_refused_with_a_reason(changes: dict[str, Any], message: str):
    arguments: dict[str, Any] = {"function": swing, "states": ["angle"], "params": {"omega": 1.0}} | changes
    with pytest.raises(GreymatchError, match=message):
        Physics(**arguments)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t, x, p: x.a, r"must return a dict with keys \['a', 'b'\]; got Tensor"),
        (lambda t, x, p: None, "must return a dict with keys .*; got NoneType"),
        (lambda t, x, p: {"a": x.a}, r"missing \['b'\], extra none"),
        (lambda t, x, p: {"a": x.a, "b": x.b, "aa": x.a}, r"missing none, extra \['aa'\]\. Did you mean 'a'\?"),
        (lambda t, x, p: {"a": x.a, "b": torch.ones(7)}, r"shape \(7,\) for state 'b'; it must be \(4,\)"),
        (lambda t, x, p: {"a": x.a, "b": 1j * x.b}, "real numbers; those of state 'b' are complex"),
        (lambda t, x, p: {"a": x.a, "b": x.c}, r"state 'c', which was not declared; declared: a, b"),
        (lambda t, x, p: {"a": x.a * p.kk, "b": x.b}, r"parameter 'kk'.*Did you mean 'k'\?"),
    ],
)
def test_a_function_that_breaks_its_promise_is_told_so(function: Callable[..., Any], message: str):
    physics = Physics(function, ["a", "b"], {"k": 1.0}, name="mine")
    with pytest.raises(GreymatchError, match=message):
        physics.evaluate(torch.zeros(4), torch.zeros(4, 2), torch.ones(4, 1))


def test_order_two_asks_for_accelerations_by_name():
    physics = Physics(lambda t, x, p: {"a_dot": x.a}, ["a"], order=2)
    with pytest.raises(GreymatchError, match=r"must return accelerations under the keys \['a'\]"):
        physics.evaluate(torch.zeros(1), torch.zeros(1, 2), torch.zeros(1, 0))


def test_declared_inputs_must_be_given():
    with pytest.raises(GreymatchError, match=r"'driven' needs inputs \['inflow'\]; none were given"):
        DRIVEN.evaluate(torch.zeros(1), torch.zeros(1, 1), torch.zeros(1, 1))
