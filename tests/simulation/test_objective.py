from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from greymatch.models.encoder import FIRST_LOG_STD
from greymatch.models.latents import Latents
from greymatch.physics.physics import Physics
from greymatch.simulation.objective import FARTHEST, Course, hybrid, mean_squares, physics_only
from greymatch.training.recipe import numbers

Prepare = Callable[..., Any]


def constant(network: Any, value: list[float]) -> None:
    """Make the residual constant, in units of the data."""
    network.dynamics.field.heads[0].get_parameter("bias").data[:] = torch.tensor(value)


@pytest.mark.parametrize("name", ["decay", "spring"])
def test_the_true_equations_solve_to_the_observations(prepared: Prepare, request: pytest.FixtureRequest, name: str):
    case = prepared(request.getfixturevalue(name), method="physvae")
    network, future = case.network, case.batch.future
    still = Latents(torch.zeros(32, 1), torch.zeros(32, 2))
    for found in (hybrid(network, still, future), physics_only(network, still.eps, future)):
        error = ((found - future.values) / network.scales.spread)[future.mask]
        assert error.abs().max().item() < 2e-3  # the start's velocity comes from a stencil


def test_a_constant_residual_is_a_line_to_a_black_box(prepared: Prepare, decay: Physics):
    case = prepared(decay, method="bb-node")
    constant(case.network, [0.3, -0.1])
    network, future = case.network, case.batch.future
    found = hybrid(network, Latents(torch.zeros(32, 0), torch.zeros(32, 2)), future)
    slope = torch.tensor([0.3, -0.1]) * network.scales.velocity
    since = future.stages[:, 4::4]
    torch.testing.assert_close(found, future.phase[:, None] + since[..., None] * slope, rtol=1e-4, atol=1e-4)


def test_the_loss_is_its_closed_form_while_nothing_moves(prepared: Prepare, decay: Physics):
    case = prepared(decay, method="bb-node", matching__evidence=10.0)
    loss, batch = case.loss(), case.batch
    held = (batch.future.phase[:, None] - batch.future.values) / (
        case.network.scales.spread * batch.features.amplitude[:, None]
    )
    wanted = (held.square() * batch.future.mask).sum((0, 1)) / batch.future.mask.sum((0, 1))
    torch.testing.assert_close(loss.errors, wanted, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(loss.matching, 0.5 * 10 * (wanted / 0.04).sum(), rtol=1e-4, atol=0)
    std = math.exp(FIRST_LOG_STD)
    assert loss.kl_z.item() == pytest.approx(2 * (0.5 * (std**2 - 1) - math.log(std)), rel=1e-5)
    assert loss.kl_theta.item() == 0.0
    assert loss.total.item() == pytest.approx(loss.matching.item() + loss.kl_z.item(), rel=1e-6)
    assert set(numbers(loss)) == {"total", "matching", "kl_theta", "kl_z", "errors"}


def test_the_evidence_is_the_window_unless_told(prepared: Prepare, decay: Physics):
    assert prepared(decay, method="bb-node").objective.evidence == 12.0


@pytest.mark.parametrize("garbage", [1e6, torch.inf, torch.nan])
def test_what_was_not_observed_does_not_count(prepared: Prepare, decay: Physics, garbage: float):
    case = prepared(decay, method="bb-node")
    constant(case.network, [0.3, -0.1])
    mask = case.batch.future.mask.clone()
    mask[:20, 3:, 0] = False
    mask[5] = False
    future = case.batch.future
    losses = []
    for values in (future.values, torch.where(mask, future.values, garbage)):
        batch = case.batch._replace(future=future._replace(mask=mask, values=values))
        losses.append(case.objective(batch, torch.ones(2), torch.Generator().manual_seed(0)))
    torch.testing.assert_close(losses[0].total, losses[1].total)
    case.objective.zero_grad()
    losses[1].total.backward()
    assert all(bool(p.grad.isfinite().all()) for p in case.objective.parameters() if p.grad is not None)


def test_nothing_observed_is_no_error():
    assert float(mean_squares(torch.zeros(3, 2, 1), torch.zeros(3, 2, 1, dtype=torch.bool))) == 0.0


def test_a_field_that_blows_up_stays_finite_with_its_gradients(prepared: Prepare, decay: Physics):
    wild = Physics(lambda t, x, p: {"a": p.k * x.a**3, "b": p.k * x.b**3}, ["a", "b"], decay.params)
    case = prepared(wild, method="physvae")
    network, future = case.network, case.batch.future
    far = Course(future.phase + 20, *future[1:])
    eps = torch.zeros(32, 1, requires_grad=True)
    found = physics_only(network, eps, far)
    assert bool(found.isfinite().all())
    assert ((found - network.scales.center) / network.scales.spread).abs().max().item() > FARTHEST
    found.sum().backward()
    assert eps.grad is not None
    assert bool(eps.grad.isfinite().all())


def test_gradients_reach_every_part_of_the_network(prepared: Prepare, spring: Physics):
    case = prepared(spring, method="bb-node")
    generator = torch.Generator().manual_seed(0)
    for parameter in case.network.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    case.loss(generator).total.backward()
    still = [name for name, p in case.network.named_parameters() if p.numel() and (p.grad is None or not p.grad.any())]
    assert [name for name in still if "eps" not in name] == []
