from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.errors import GreymatchError
from greymatch.matching.observed import interpolated
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.recipe import recipe
from greymatch.training.segments import Segments

Decays = Callable[..., Trajectories]


def segments(physics: Physics, data: Trajectories, settings: Settings, method: str = "bb-node") -> Segments:
    settings = settings.updated({"method": method, "simulation.points": 5})
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.tensor([0]))
    sampler = recipe(Network.fitting(physics, settings, Scales.of(data, path), window), data, path).sampler
    assert isinstance(sampler, Segments)
    return sampler


def test_a_batch_starts_at_its_windows_end_and_holds_what_comes_next(decay: Physics, decays: Decays, tiny: Settings):
    data = decays(12)
    batch = segments(decay, data, tiny).draw(200, torch.Generator().manual_seed(0))
    future = batch.future
    ends = (future.origin / 0.1).round().long()
    torch.testing.assert_close(future.phase, data.values[batch.rows, ends].float())
    asked = (future.origin[:, None] + future.stages[:, 2::2]).float()
    torch.testing.assert_close(asked[:, 0], future.origin.float() + 0.1)
    k, start = torch.as_tensor(data.truth["k"])[batch.rows, None], data.values[batch.rows, 0]
    exact = 0.5 / k + (start - 0.5 / k) * torch.exp(-k * asked)
    torch.testing.assert_close(future.values[future.mask], exact[..., None].float()[future.mask], rtol=0, atol=1e-5)


def test_windows_lie_anywhere_and_a_short_future_is_masked(decay: Physics, decays: Decays, tiny: Settings):
    batch = segments(decay, decays(12), tiny).draw(600, torch.Generator().manual_seed(0))
    ends = (batch.future.origin / 0.1).round().long()
    assert (int(ends.min()), int(ends.max())) == (7, 39)
    left = (40 - ends).clamp(max=5)
    assert torch.equal(batch.future.mask[..., 0].sum(1), left)
    # nothing is solved beyond the end
    moved = batch.future.stages[:, 2::2] - batch.future.stages[:, :-2:2]
    assert torch.equal((moved > 1e-6).sum(1), left)
    assert all(bool(part.isfinite().all()) for part in batch.future if part is not None)


def test_gaps_uneven_times_and_lengths_are_no_trouble(decay: Physics, tiny: Settings):
    rng = np.random.default_rng(0)
    times = torch.as_tensor(rng.uniform(0.05, 0.15, (10, 40)).cumsum(1))
    values = torch.exp(-times)[..., None]
    mask = torch.as_tensor(rng.random((10, 40, 1)) > 0.3)
    mask[:, 0] = True
    times[3, 20:] = torch.inf
    mask[3, 20:] = False
    data = Trajectories(("x",), times, values.masked_fill(~mask, 0.0), mask, np.arange(10))
    for method in ("bb-node", "physvae"):
        sampler = segments(decay, data, tiny, method)
        objective = recipe(sampler.network, data, interpolated(data, sampler.network.settings, 1)).objective
        batch = sampler.draw(100, torch.Generator().manual_seed(0))
        exact = torch.exp(-(batch.future.origin[:, None] + batch.future.stages[:, 2::2]))[..., None].float()
        seen = batch.future.mask
        torch.testing.assert_close(batch.future.values[seen], exact[seen], rtol=0, atol=1e-5)
        objective(batch, torch.ones(1), torch.Generator().manual_seed(0)).total.backward()
        assert all(bool(p.grad.isfinite().all()) for p in sampler.network.parameters() if p.grad is not None)


def test_a_window_that_cannot_start_is_left_out(tiny: Settings):
    """Order 2 needs two observations for a velocity."""
    spring = Physics(lambda t, x, p: {"x": -x.x}, ["x"], order=2)
    times = torch.arange(40, dtype=torch.float64).repeat(4, 1) / 10
    mask = torch.ones(4, 40, 1, dtype=torch.bool)
    mask[0, 10:20] = False  # a window of 8 that ends at 20 shows a single point
    data = Trajectories(("x",), times, times.sin()[..., None] * mask, mask, np.arange(4))
    sampler = segments(spring, data, tiny)
    batch = sampler.draw(800, torch.Generator().manual_seed(0))
    ends = (batch.future.origin * 10).round().long()[batch.rows == 0]
    assert 20 not in ends.tolist()
    assert {21, 22} <= set(ends.tolist())
    few = replace(data, mask=mask & (torch.arange(40) % 8 == 0)[None, :, None])
    few = replace(few, values=few.values * few.mask)
    with pytest.raises(GreymatchError, match=r"`data` must hold a window of 8 points that shows every state 2 times"):
        segments(spring, few, tiny)


def test_the_velocity_at_the_start_is_that_of_the_history(tiny: Settings):
    spring = Physics(lambda t, x, p: {"x": -x.x}, ["x"], order=2)
    times = torch.arange(40, dtype=torch.float64).repeat(4, 1) / 10
    data = Trajectories(("x",), times, times.sin()[..., None], torch.ones(4, 40, 1, dtype=torch.bool), np.arange(4))
    batch = segments(spring, data, tiny, "physvae").draw(50, torch.Generator().manual_seed(0))
    assert batch.past is not None
    for course in (batch.future, batch.past):
        wanted = torch.stack([course.origin.sin(), course.origin.cos()], 1)
        torch.testing.assert_close(course.phase, wanted.float(), rtol=0, atol=1e-4)
    torch.testing.assert_close(batch.past.origin, batch.future.origin - 0.7)


def test_inputs_are_known_at_every_stage(decays: Decays, tiny: Settings):
    driven = Physics(lambda t, x, p, u: {"x": u.q - x.x}, ["x"], inputs=["q"])
    data = decays(6)
    data = replace(data, inputs=Signals(("q",), data.times, (2 * data.times)[..., None], kind="linear"))
    batch = segments(driven, data, tiny).draw(50, torch.Generator().manual_seed(0))
    assert batch.future.inputs is not None
    wanted = 2 * (batch.future.origin[:, None] + batch.future.stages)
    torch.testing.assert_close(batch.future.inputs[..., 0], wanted.float(), rtol=0, atol=1e-5)


def test_histories_of_every_length_are_drawn(decay: Physics, decays: Decays, tiny: Settings):
    sampler = segments(decay, decays(12), tiny.updated({"window": 12, "shortest": 4}), "physvae")
    generator, blank = torch.Generator().manual_seed(0), set()
    for _ in range(40):
        features = sampler.draw(4, generator).features
        blank.add(int((features.sequence.abs().amax(2) == 0).sum(1).unique().item()))
    assert blank == {0, 4, 7, 8}


def test_simulated_windows_obey_the_physics_and_show_the_prior(decay: Physics, decays: Decays, tiny: Settings):
    sampler = segments(decay, decays(12), tiny.updated({"simulation.substeps": 2}), "physvae")
    (bank,) = sampler.simulations
    assert float(bank.eps.mean()) == pytest.approx(0.0, abs=0.1)
    assert float(bank.eps.std()) == pytest.approx(1.0, abs=0.1)
    # Gauss-Newton on a window without any missing part finds the parameter itself
    drawn = bank.draw(500, torch.Generator().manual_seed(0))
    wide = drawn.features.amplitude[:, 0] > 0.4
    names = ["amplitude", "mean", "plain", "best", "latent"]
    latent = drawn.features.summary[:, names.index("latent")]
    inner = wide & (drawn.eps[:, 0].abs() < 2)
    assert float((latent - drawn.eps[:, 0])[inner].abs().median()) < 0.1


def test_the_generator_decides_the_batch(decay: Physics, decays: Decays, tiny: Settings):
    sampler = segments(decay, decays(12), tiny, "physvae")
    one, same, other = (sampler.draw(16, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.future.values, same.future.values)
    drawn = [batch.simulated.eps for batch in (one, same, other) if batch.simulated is not None]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
