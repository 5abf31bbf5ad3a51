from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.errors import GreymatchError
from greymatch.matching.objective import Loss, Objective, Sample
from greymatch.matching.observed import interpolated
from greymatch.models.encoder import FIRST_LOG_STD
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings
from greymatch.training.sampler import Sampler

W, K = 2.0, 0.5
# the prior's median is the truth: an untrained model at the posterior's mean is exact
SPRING = Physics(lambda t, x, p: {"a": -p.w * x.a, "b": -4 * x.b}, ["a", "b"], {"w": Normal(4.0, 0.5)}, order=2)
DECAY = Physics(lambda t, x, p: {"a": -p.k * x.a, "b": -p.k * x.b}, ["a", "b"], {"k": Normal(K, 0.1)})
NOISE = torch.full((2,), 0.04)


def recorded(physics: Physics) -> Trajectories:
    times = torch.linspace(0, 6, 61, dtype=torch.float64)
    phase = torch.arange(8)[:, None, None] + torch.tensor([0.0, 0.7])
    if physics.order == 2:
        values = torch.cos(W * times[:, None] + phase)
    else:
        values = (1 + phase) * torch.exp(-K * times[:, None])
    return Trajectories(
        ("a", "b"), times.repeat(8, 1), values.double(), torch.ones(8, 61, 2, dtype=torch.bool), np.arange(8)
    )


def prepared(physics: Physics, **changes: Any) -> tuple[Objective, Sample]:
    small = {"encoder.width": 8, "residual.width": 8, "matching.sensitivity": 0.0, "matching.size": 0.0}
    settings = Settings(window=12).updated(small | {k.replace("__", "."): v for k, v in changes.items()})
    data = recorded(physics)
    path = interpolated(data, settings, physics.order)
    torch.manual_seed(0)
    window = Windows.of(data, 12).gather(torch.tensor([0]))
    network = Network.fitting(physics, settings, Scales.of(data, path), window)
    sampler = Sampler.of(network, data, path)
    return Objective(network), sampler.draw(32, torch.Generator().manual_seed(0))


def loss_of(objective: Objective, sample: Sample, noise: Tensor | None = None) -> Loss:
    with torch.no_grad():
        return objective(sample, torch.full((objective.channels,), 0.04) if noise is None else noise, torch.Generator())


def bias(objective: Objective, head: int, value: list[float]) -> None:
    """Make a head of the residual the constant `value`, in units of the data."""
    objective.network.dynamics.field.get_parameter(f"heads.{head}.bias").data[:] = torch.tensor(value)


def unit(objective: Objective, sample: Sample) -> Tensor:
    return sample.features.amplitude


@pytest.mark.parametrize("physics", [SPRING, DECAY])
def test_exact_physics_at_the_true_parameters_matches_perfectly(physics: Physics):
    objective, sample = prepared(physics, method="gb-dm")
    loss = loss_of(objective, sample)
    assert float(loss.errors.max()) < 1e-6
    assert float(loss.matching) == pytest.approx(0.0, abs=1e-3)
    assert float(loss.total) == float(loss.matching)
    assert float(loss.residual) == 0.0


@pytest.mark.parametrize("physics", [SPRING, DECAY])
def test_the_error_of_a_constant_residual_is_its_square_over_the_amplitude(physics: Physics):
    objective, sample = prepared(physics, method="gb-dm", matching__evidence=10.0)
    bias(objective, 0, [0.3, -0.1])
    loss = loss_of(objective, sample, torch.tensor([0.04, 0.25]))
    wanted = (torch.tensor([0.3, -0.1]) / unit(objective, sample)).square().mean(0)
    torch.testing.assert_close(loss.errors, wanted, rtol=2e-2, atol=1e-5)
    half = 0.5 * 10 * (wanted / torch.tensor([0.04, 0.25])).sum()
    torch.testing.assert_close(loss.matching, half, rtol=2e-2, atol=0)


def test_alpha_weighs_the_acceleration_alone():
    for alpha in (1.0, 3.0):
        settings = {"method": "gb-dm", "residual__kinematics": "learned", "matching__alpha": alpha}
        objective, sample = prepared(SPRING, **settings)
        assert objective.channels == 4
        bias(objective, 0, [0.2, 0.0])  # the velocity's correction
        bias(objective, 1, [0.0, 0.5])  # the acceleration's residual
        loss = loss_of(objective, sample)
        drift = 0.2**2 * (1 / unit(objective, sample)[:, 0]).square().mean()
        top = 0.5**2 * (1 / unit(objective, sample)[:, 1]).square().mean()
        torch.testing.assert_close(loss.errors, torch.stack([drift, drift * 0, top * 0, top]), rtol=2e-2, atol=1e-5)
        wanted = 0.5 * objective.evidence * (drift + alpha * top) / 0.04
        torch.testing.assert_close(loss.matching, wanted, rtol=2e-2, atol=0)


def test_alpha_does_nothing_to_first_order_physics():
    results = []
    for alpha in (1.0, 7.0):
        objective, sample = prepared(DECAY, method="gb-dm", matching__alpha=alpha)
        bias(objective, 0, [0.3, 0.3])
        results.append(float(loss_of(objective, sample).matching))
    assert results[0] == results[1]


def test_the_evidence_is_the_window_unless_told():
    assert prepared(DECAY)[0].evidence == 12.0
    assert prepared(DECAY, matching__evidence=3.5)[0].evidence == 3.5


def test_the_size_of_the_residual_is_paid_in_units_of_the_window():
    objective, sample = prepared(DECAY, method="gb-dm", matching__size=0.25)
    bias(objective, 0, [0.3, -0.1])
    loss = loss_of(objective, sample)
    size = (torch.tensor([0.3, 0.1]) / unit(objective, sample)).mean()
    torch.testing.assert_close(loss.residual, size, rtol=1e-3, atol=0)
    torch.testing.assert_close(loss.total - loss.matching, objective.evidence * 0.25 * size, rtol=1e-3, atol=1e-4)


def test_a_constant_residual_is_not_sensitive_and_a_linear_one_has_its_slopes():
    objective, sample = prepared(DECAY, method="gb-dm", matching__sensitivity=0.5)
    bias(objective, 0, [0.3, -0.1])
    loss = loss_of(objective, sample)
    assert float(loss.sensitivity) == 0.0

    class Linear(torch.nn.Module):
        def forward(self, state: Tensor, extra: Tensor) -> Tensor:
            return state @ torch.tensor([[0.4, 0.0], [0.0, 0.2]])

    objective.network.dynamics.field = Linear()  # pyright: ignore[reportAttributeAccessIssue]
    # sum_i E|dr_j/dx_i|, averaged over the two equations j; a step of at least 0.1 bounds what counts
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        found = [float(objective(sample, NOISE, generator).sensitivity) for _ in range(50)]
    step = torch.randn(1_000_000, generator=torch.Generator().manual_seed(1)).abs()
    shrunk = float((step / step.clamp_min(0.1)).mean())
    assert float(np.mean(found)) == pytest.approx((0.4 + 0.2) / 2 * shrunk, rel=0.02)
    total = objective(sample, NOISE, torch.Generator()).total
    loss = objective(sample, NOISE, torch.Generator())
    torch.testing.assert_close(total - loss.matching, objective.evidence * 0.5 * loss.sensitivity, rtol=1e-4, atol=1e-4)


def test_the_kl_terms_are_their_closed_forms():
    objective, sample = prepared(DECAY)
    loss = loss_of(objective, sample)
    std = math.exp(FIRST_LOG_STD)
    one = 0.5 * (std**2 - 1) - math.log(std)  # of an untrained posterior, N(0, std), to N(0, 1)
    assert loss.kl_theta is not None
    assert loss.kl_z is not None
    assert float(loss.kl_theta) == pytest.approx(one, rel=1e-5)
    assert float(loss.kl_z) == pytest.approx(2 * one, rel=1e-5)
    assert float(loss.total) == pytest.approx(float(loss.matching) + 3 * one, rel=1e-5)


def test_a_deterministic_method_pays_no_kl_and_draws_nothing():
    objective, sample = prepared(DECAY, method="gb-dm")
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    with torch.no_grad():
        loss = objective(sample, NOISE, generator)
    assert torch.equal(generator.get_state(), before)
    assert float(loss.kl_theta) > 0
    assert float(loss.total) == float(loss.matching)


def test_a_variational_method_feels_the_spread_of_its_posterior():
    objective, sample = prepared(DECAY)
    loss = loss_of(objective, sample)
    # x' = -k x with k = K + 0.1 std eps: the error is 0.1 std |x| over the unit, on average over eps
    scale = objective.network.scales.velocity * unit(objective, sample)[:, None]
    wanted = (0.1 * math.exp(FIRST_LOG_STD) * sample.matched.position / scale).square().mean((0, 1))
    torch.testing.assert_close(loss.errors, wanted, rtol=0.6, atol=0)
    assert bool((loss.errors > 0).all())


@pytest.mark.parametrize("garbage", [100.0, torch.inf, torch.nan])
def test_points_that_are_not_trusted_do_not_count(garbage: float):
    objective, sample = prepared(DECAY, method="gb-dm", matching__size=0.1)
    bias(objective, 0, [0.3, -0.1])
    trusted = torch.ones_like(sample.trusted)
    trusted[:20, 3:, 0] = False
    trusted[5, :, 1] = False
    sample = sample._replace(trusted=trusted)
    velocity = torch.where(trusted, sample.matched.velocity, garbage)
    spoiled = sample._replace(matched=sample.matched._replace(velocity=velocity))
    noise = NOISE.clone()
    one, two = objective(sample, noise, None), objective(spoiled, noise, None)
    for mine, its in zip(one, two, strict=True):
        torch.testing.assert_close(mine, its)
    objective.zero_grad()
    two.total.backward()
    assert all(bool(p.grad.isfinite().all()) for p in objective.parameters() if p.grad is not None)
    mean = (0.3 / unit(objective, sample)[:, :1]).square().expand_as(trusted[..., 0])[trusted[..., 0]].mean()
    torch.testing.assert_close(two.errors[0], mean, rtol=2e-2, atol=0)


def test_a_batch_without_any_trusted_point_is_finite():
    objective, sample = prepared(DECAY)
    loss = loss_of(objective, sample._replace(trusted=torch.zeros_like(sample.trusted)))
    assert float(loss.matching) == 0.0
    assert bool(loss.total.isfinite())


def test_no_equation_is_matched_where_another_state_is_a_guess():
    data = recorded(DECAY)
    mask = data.mask.clone()
    mask[:, 30:45, 0] = False  # b is observed there, but its equation may read a
    gappy = replace(data, mask=mask, values=data.values * mask)
    settings = Settings(window=12).updated({"encoder.width": 8, "residual.width": 8})
    path = interpolated(gappy, settings, 1)
    network = Network.fitting(DECAY, settings, Scales.of(gappy, path), Windows.of(gappy, 12).gather(torch.tensor([0])))
    sample = Sampler.of(network, gappy, path).draw(500, torch.Generator().manual_seed(0))
    inside = (sample.matched.time > 3.0) & (sample.matched.time < 4.4)
    assert bool(inside.any())
    assert not sample.trusted[inside].any()
    assert bool(sample.trusted[~inside & (sample.matched.time < 2.9)].all())


def test_gradients_reach_every_part_of_the_network():
    objective, sample = prepared(SPRING, residual__kinematics="learned", matching__size=0.1, matching__sensitivity=0.1)
    generator = torch.Generator().manual_seed(0)
    for parameter in objective.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    objective(sample, torch.ones(objective.channels), generator).total.backward()
    still = [name for name, p in objective.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


def test_paths_without_acceleration_cannot_match_order_two():
    data = recorded(SPRING)
    for kind in ("linear", "bridge-0.1", "lagrange-2"):
        settings = Settings().updated({"matching.interpolant": kind})
        with pytest.raises(GreymatchError, match=f"`matching.interpolant` = '{kind}' has no acceleration.*lagrange-3"):
            interpolated(data, settings, order=2)
        assert interpolated(data, settings, order=1).degree == 1
