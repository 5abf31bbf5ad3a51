from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.simulation.simulate import phase_velocity

Build = Callable[..., Network]
COMPOSITIONS = ["additive", "informed", "multiplicative"]


def point(network: Network, *batch: int) -> tuple[Tensor, Tensor, Latents]:
    generator = torch.Generator().manual_seed(1)
    draw = lambda *shape: torch.randn(*batch, *shape, generator=generator)  # noqa: E731
    latents = Latents(draw(len(network.physics.free)), draw(network.settings.encoder.latents))
    return draw(), draw(len(network.physics.phase), *network.shapes.grid), latents


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize(("kind", "grid"), [("mlp", ()), ("mlp", (6,)), ("conv", (6,)), ("conv", (5, 4))])
@pytest.mark.parametrize(("order", "kinematics"), [(1, "exact"), (2, "exact"), (2, "learned")])
def test_an_untrained_model_is_the_physics(
    build: Build, composition: str, kind: str, grid: tuple[int, ...], order: int, kinematics: str
):
    network = build(
        order, grid, residual__kind=kind, residual__composition=composition, residual__kinematics=kinematics
    )
    t, phase, latents = point(network, 3)
    theta = network.physics.push(latents.eps)
    velocity = network.dynamics.velocity(t, phase, latents)
    assert torch.equal(velocity, phase_velocity(network.physics, t, phase, theta))
    parts = network.dynamics.parts(t, phase, latents)
    assert not parts.residual.any()
    assert (parts.drift is not None) == (kinematics == "learned")
    assert parts.drift is None or not parts.drift.any()


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize(("order", "kinematics"), [(1, "exact"), (2, "learned")])
def test_complete_equations_are_never_touched(build: Build, composition: str, order: int, kinematics: str):
    settings = {"residual__composition": composition, "residual__kinematics": kinematics}
    network = build(order, complete=("a",), trained=True, **settings)
    t, phase, latents = point(network, 20)
    parts = network.dynamics.parts(t, phase, latents)
    assert torch.equal(parts.total[:, 0], parts.physics[:, 0])
    assert bool((parts.total[:, 1] != parts.physics[:, 1]).all())
    if parts.drift is not None:
        assert not parts.drift[:, 0].any()
        assert bool(parts.drift[:, 1].all())


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize(("order", "kinematics"), [(1, "exact"), (2, "learned")])
def test_a_net_that_counts_nowhere_is_not_asked(build: Build, composition: str, order: int, kinematics: str):
    settings = {"residual__composition": composition, "residual__kinematics": kinematics}
    network = build(order, (6,), complete=("a", "b"), trained=True, **settings)
    t, phase, latents = point(network, 3)
    asked, calls = network.dynamics.parts(t, phase, latents), []
    network.dynamics.field.register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        parts = network.dynamics.parts(t, phase, latents)
    assert not calls
    assert torch.equal(parts.total, asked.total)
    assert torch.equal(parts.learned, asked.learned)


def test_the_residual_is_in_units_of_the_data(build: Build):
    network = build(trained=True, residual__products=0)
    t, phase, latents = point(network, 4)
    network.dynamics.field.get_parameter("heads.0.weight").data.zero_()
    network.dynamics.field.get_parameter("heads.0.bias").data[:] = 0.5
    parts = network.dynamics.parts(t, phase, latents)
    torch.testing.assert_close(parts.residual, (0.5 * network.scales.velocity).expand(4, 2), rtol=1e-4, atol=1e-5)


def test_points_may_have_any_batch_axes(build: Build):
    network = build(2, (4,), trained=True, residual__kind="conv", residual__kernel=3, residual__composition="informed")
    t, phase, latents = point(network, 3, 5)
    nested = network.dynamics.velocity(t, phase, latents)
    flat = Latents(latents.eps.flatten(0, 1), latents.z.flatten(0, 1))
    rows = network.dynamics.velocity(t.flatten(), phase.flatten(0, 1), flat)
    torch.testing.assert_close(nested.flatten(0, 1), rows)


@pytest.mark.parametrize(
    ("setting", "what"), [("residual__sees_time", "time"), ("residual__sees_theta", "theta"), (None, "z")]
)
def test_the_residual_depends_on_what_it_is_given_and_on_nothing_else(build: Build, setting: str | None, what: str):
    def residual(network: Network, **moved: float) -> Tensor:
        t, phase, latents = point(network, 4)
        latents = Latents(latents.eps + moved.get("theta", 0.0), latents.z + moved.get("z", 0.0))
        known = torch.zeros(4, 2)
        return network.dynamics.learned(t + moved.get("time", 0.0), phase, latents, None, known)

    plain = build(trained=True)
    seeing = build(trained=True, **({setting: True} if setting else {}))
    moves = {"time": 0.7, "theta": 0.7, "z": 0.7}
    for network, sees in [(plain, {"z"}), (seeing, {"z", what})]:
        base = residual(network)
        for name, move in moves.items():
            changed = bool((residual(network, **{name: move}) != base).any())
            assert changed == (name in sees), name


@pytest.mark.parametrize(("kind", "grid"), [("mlp", ()), ("conv", (6,)), ("polynomial", ())])
def test_the_residual_depends_on_what_it_may_and_on_nothing_else(build: Build, kind: str, grid: tuple[int, ...]):
    network = build(1, grid, trained=True, residual__kind=kind, residual__among=("b",))
    t, phase, latents = point(network, 20)
    before = network.dynamics.parts(t, phase, latents).learned
    for channel, moves in ((0, False), (1, True)):
        moved = phase.clone()
        moved[:, channel] += 1.0
        assert torch.equal(network.dynamics.parts(t, moved, latents).learned, before) is not moves


def test_what_the_residual_may_depend_on_must_be_there(build: Build):
    with pytest.raises(GreymatchError, match=r"`residual.among` must name some of \['a', 'b'\]; got 'c'"):
        build(1, residual__among=("c",))
