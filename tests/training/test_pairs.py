from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.next_point import NextPointObjective
from greymatch.matching.observed import interpolated
from greymatch.models.memory import Memory
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.pairs import Pairs

Decays = Callable[..., Trajectories]
NAN = math.nan


def pairs(physics: Physics, data: Trajectories, settings: Settings) -> Pairs:
    settings = settings.updated({"method": "tfm"})
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.tensor([0]))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Pairs.of(Network.fitting(physics, settings, Scales.of(data, path), window), data)


def test_a_pair_is_a_memory_and_the_observation_after_it(decay: Physics, decays: Decays, tiny: Settings):
    data = decays(12)
    drawn = pairs(decay, data, tiny)
    pair, scales = drawn.draw(256, torch.Generator().manual_seed(0)), drawn.network.scales
    last, target = (scales.center + part * scales.spread for part in (Memory.unpacked(pair.features).last, pair.target))
    k = torch.as_tensor(data.truth["k"])[pair.rows, None].float()
    # x - 0.5 / k decays by exp(-k h) from one to the next
    torch.testing.assert_close(target - 0.5 / k, (last - 0.5 / k) * torch.exp(-0.1 * k), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(pair.steps, torch.ones(256))
    assert bool(pair.seen.all())
    assert float(drawn.network.next_point.shortest) == pytest.approx(1.0, abs=1e-5)
    assert len(pair.rows.unique()) == 12


def test_the_next_observation_may_be_far_and_of_some_states_alone(recording: Callable):
    values = [[1.0, 1.0], [2.0, NAN], [NAN, NAN], [3.0, 4.0], [5.0, NAN], [6.0, 7.0]]
    physics = Physics(lambda t, x, p: {"x0": x.x1, "x1": x.x0}, ["x0", "x1"])
    data = recording([0.0, 1.0, 2.0, 3.0, 3.25, 4.25], torch.tensor([values] * 2))
    drawn = pairs(physics, data, Settings(window=2).updated({"memory.points": 2, "matching.interpolant": "linear"}))
    assert float(drawn.network.next_point.shortest) == pytest.approx(0.25)
    pair = drawn.draw(200, torch.Generator().manual_seed(0))
    scales, memory = drawn.network.scales, Memory.unpacked(pair.features)
    start = scales.center + memory.last * scales.spread
    target = scales.center + pair.target * scales.spread
    found = {
        (round(float(a[0]), 3), round(float(b[0]), 3), round(float(steps), 3), tuple(seen.tolist()))
        for a, b, steps, seen in zip(start, target, pair.steps, pair.seen, strict=True)
    }
    assert found == {(2, 3, 2, (True, True)), (3, 5, 0.25, (True, False)), (5, 6, 1, (True, True))}


def test_what_is_not_observed_is_not_learned_from(decay: Physics, decays: Decays, tiny: Settings):
    drawn = pairs(decay, decays(12), tiny)
    objective = NextPointObjective(drawn.network)
    pair = drawn.draw(64, torch.Generator().manual_seed(0))
    half = pair._replace(seen=(torch.arange(64) < 32)[:, None])
    wild = half._replace(target=torch.where(half.seen, pair.target, 1e6))
    one, two = (objective(p, torch.ones(1), torch.Generator().manual_seed(1)) for p in (half, wild))
    assert torch.equal(one.total, two.total)
    assert float(one.total.detach()) > 0


def test_a_loss_is_the_error_of_the_slope_in_units_of_the_noise(decay: Physics, decays: Decays, tiny: Settings):
    drawn = pairs(decay, decays(12), tiny)
    objective = NextPointObjective(drawn.network)
    pair = drawn.draw(64, torch.Generator().manual_seed(0))
    loss = objective(pair, torch.tensor([0.01]), None)
    # an untrained net goes on with the last slope
    memory, unit = Memory.unpacked(pair.features), drawn.network.next_point.unit
    wrong = (memory.values[:, -1] - memory.values[:, -2]) - (pair.target - memory.values[:, -1])
    torch.testing.assert_close(loss.errors, (wrong / unit).square().mean(0), rtol=1e-3, atol=0)
    torch.testing.assert_close(loss.total.detach(), 50 * loss.errors.sum())


def test_short_histories_are_learned_from_too(decay: Physics, decays: Decays, tiny: Settings):
    settings = tiny.updated({"window": 12, "shortest": 4, "memory.points": 8})
    drawn = pairs(decay, decays(12), settings)
    generator = torch.Generator().manual_seed(0)
    counts = {int(Memory.unpacked(drawn.draw(4, generator).features).ages.isinf().sum(1).unique()) for _ in range(60)}
    assert counts == {0, 3, 4}


def test_the_order_of_the_trajectories_does_not_matter(decay: Physics, decays: Decays, tiny: Settings):
    data = decays(12)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    one, other = pairs(decay, data, tiny), pairs(decay, data.select(order), tiny)
    torch.testing.assert_close(one.network.scales.spread, other.network.scales.spread)
    assert torch.equal(one.after[order], other.after)
    history = data.first(8)
    features = one.network.observe(history).features.sequence
    torch.testing.assert_close(features[order], one.network.observe(history.select(order)).features.sequence)


def test_gaps_do_not_enter_the_memory(decay: Physics, decays: Decays, tiny: Settings):
    data = decays(12)
    mask = data.mask.clone()
    mask[:, 7] = False
    drawn = pairs(decay, replace(data, values=data.values * mask, mask=mask), tiny.updated({"memory.points": 3}))
    generator = torch.Generator().manual_seed(0)
    drawings = [drawn.draw(500, generator) for _ in range(10)]
    ages = torch.cat([Memory.unpacked(pair.features).ages[..., 0].round() for pair in drawings]).unique(dim=0)
    # from windows of three points, which a gap leaves with two observations, and from longer ones
    known = {(2, 1, 0), (math.inf, 1, 0), (math.inf, 2, 0), (3, 1, 0), (3, 2, 0)}
    assert {tuple(row.tolist()) for row in ages} == known
    assert {float(steps) for pair in drawings for steps in pair.steps.round()} == {1, 2}
