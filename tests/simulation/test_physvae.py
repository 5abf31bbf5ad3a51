from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.latents import Encoded, Gaussian, Latents
from greymatch.physics.physics import Physics

Prepare = Callable[..., Any]


def certain(case: Any) -> None:
    """A posterior at the truth, without any spread."""
    heads = case.network.encoder.plain
    for head, size in ((heads.z_head, 2), (heads.eps_head, 1)):
        head.bias.data[size:] = -100.0


@pytest.mark.parametrize("name", ["decay", "spring"])
def test_at_the_truth_data_term_and_regularisers_vanish(prepared: Prepare, request: pytest.FixtureRequest, name: str):
    case = prepared(request.getfixturevalue(name), method="physvae")
    certain(case)
    loss = case.loss(torch.Generator().manual_seed(0))
    assert loss.matching.item() < 1e-3
    assert loss.unmix.item() < 1e-2  # the velocity at the window's first point comes from a one-sided stencil
    assert loss.ppc.item() < 1e-9
    (loss.matching + loss.ppc).backward()
    gradients = [p.grad for p in case.network.dynamics.parameters() if p.grad is not None]
    assert max(float(g.abs().max()) for g in gradients) < 0.2


def test_the_data_term_is_the_sum_of_squares_of_a_window(prepared: Prepare, decay: Physics):
    case = prepared(decay, method="physvae")
    certain(case)
    case.network.dynamics.field.heads[0].get_parameter("bias").data[:] = torch.tensor([0.3, -0.1])
    loss = case.loss(torch.Generator().manual_seed(0))
    observed = float(case.batch.future.mask[:, :, 0].sum()) / 32
    assert loss.matching.item() == pytest.approx(observed * loss.errors.sum().item(), rel=1e-4)
    # the physics is exact, so the residual's whole effect is the error
    assert loss.ppc.item() == pytest.approx(loss.matching.item(), rel=1e-2)


def test_the_total_weighs_each_term_as_told(prepared: Prepare, decay: Physics):
    weights = {"kl": 0.5, "ppc": 2.0, "unmix": 3.0, "augment": 5.0}
    case = prepared(decay, method="physvae", **{f"simulation__{k}": v for k, v in weights.items()})
    case.network.dynamics.field.heads[0].get_parameter("bias").data[:] = torch.tensor([0.3, -0.1])
    loss = case.loss(torch.Generator().manual_seed(0))
    terms = loss.matching + 0.5 * (loss.kl_theta + loss.kl_z) + 2 * loss.ppc + 3 * loss.unmix + 5 * loss.augment
    torch.testing.assert_close(loss.total, terms)
    assert min(part.item() for part in (loss.ppc, loss.unmix, loss.augment)) > 0


def test_a_weight_of_zero_switches_its_regulariser_off(prepared: Prepare, decay: Physics):
    off = {f"simulation__{name}": 0.0 for name in ("ppc", "unmix", "augment")}
    loss = prepared(decay, method="physvae", **off).loss(torch.Generator().manual_seed(0))
    assert (loss.ppc.item(), loss.unmix.item(), loss.augment.item()) == (0.0, 0.0, 0.0)


def test_the_kl_has_takeishis_weight_unless_told(prepared: Prepare, decay: Physics):
    assert prepared(decay, method="physvae").objective.settings.kl == pytest.approx(math.exp(-9), rel=1e-3)


def test_unmixing_teaches_the_cleansing_alone(prepared: Prepare, decay: Physics):
    case = prepared(decay, method="physvae")
    eps = torch.full((32, 1), 3.0, requires_grad=True)
    z = torch.zeros(32, 2)
    law = Gaussian(torch.zeros(32, 1), torch.zeros(32, 1))
    unmix = case.objective._unmix(
        case.batch, case.network.informed(case.batch.features), Encoded(Latents(eps, z), law, law)
    )
    unmix.backward()
    assert eps.grad is None
    touched = {name.split(".")[0] for name, p in case.network.encoder.named_parameters() if p.grad is not None}
    assert touched <= {"hidden", "out"}
    # with another parameter the physics leaves the window: a cleansing that adds nothing pays for it
    known = case.batch.past.phase[:, None] * torch.exp(-(0.5 + 0.3) * case.batch.past.stages[:, 4::4, None])
    away = (known - case.batch.past.values) / (case.network.scales.spread * case.batch.features.amplitude[:, None])
    torch.testing.assert_close(unmix.detach(), away.square().sum() / 32, rtol=1e-3, atol=0)


def test_simulated_windows_alone_teach_the_parameters(
    prepared: Prepare, decay: Physics, exact: Callable[[Physics], Trajectories]
):
    case = prepared(decay, method="physvae", encoder__width=32)
    optimizer = torch.optim.Adam(case.network.encoder.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    first = None
    for _ in range(150):
        loss = case.objective._augment(case.sampler.draw(64, generator))
        first = first or loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert first == pytest.approx(1.0, abs=0.4)  # an encoder that always says the prior's mean errs by its variance
    assert case.objective._augment(case.sampler.draw(256, generator)).item() < 0.05


def test_gradients_reach_every_part_of_the_network(prepared: Prepare, spring: Physics):
    case = prepared(spring, method="physvae")
    generator = torch.Generator().manual_seed(0)
    for parameter in case.network.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    case.loss(generator).total.backward()
    still = [name for name, p in case.network.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []
