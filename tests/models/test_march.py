from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.models.march import Clock
from greymatch.models.network import Network
from greymatch.models.rollout import roll_out
from greymatch.simulation.solve import Solution
from greymatch.simulation.start import Start
from greymatch.simulation.status import Status

Build = Callable[..., Network]
Waves = Callable[..., Trajectories]
STEP = 0.2


def forecast(network: Network, history: Trajectories, times: Tensor, draws: int = 1, intervals: int = 100) -> Solution:
    members = network.draw(network.observe(history), draws, torch.Generator().manual_seed(0))
    rows = torch.arange(len(history)).repeat(draws)
    start = Start.of(history, network.physics.order).select(rows)
    with torch.no_grad():
        return roll_out(network, start, members, times.repeat(len(rows), 1), max_steps=intervals)


def tell_the_truth(network: Network, data: Trajectories, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the net name the true next point: a wave obeys x_next = 2 cos(w h) x - x_before."""
    turn = 2 * math.cos(STEP * network.physics.order)

    def truth(moving, part, steps, memory, ahead):
        middle = (network.scales.center / network.scales.spread).reshape(-1, *(1,) * (moving.ndim - 2))
        before, last = memory.values[:, -2] + middle, memory.values[:, -1] + middle
        return turn * last - before - middle

    monkeypatch.setattr(network.next_point, "forward", truth)


@pytest.mark.parametrize(("order", "grid", "substeps"), [(1, (), 1), (2, (), 1), (1, (), 7), (2, (3, 2), 2)])
def test_a_net_that_names_the_true_next_point_forecasts_exactly(
    build: Build, waves: Waves, monkeypatch: pytest.MonkeyPatch, order: int, grid: tuple[int, ...], substeps: int
):
    network = build(order, grid, method="tfm", memory__substeps=substeps)
    data = waves(order, grid, points=30)
    tell_the_truth(network, data, monkeypatch)
    solution = forecast(network, data.first(6), data.times[0, 6:])
    torch.testing.assert_close(solution.values, data.values[:, 6:].float(), rtol=0, atol=2e-4)
    assert not solution.status.any()
    assert solution.steps == 24


def test_one_far_time_is_reached_as_by_all_the_times_before_it(build: Build, waves: Waves):
    network, data = build(method="tfm", trained=True), waves(1, ())
    near = forecast(network, data.first(6), STEP * torch.arange(6, 12, dtype=torch.float64))
    far = forecast(network, data.first(6), torch.tensor([STEP * 11], dtype=torch.float64))
    torch.testing.assert_close(far.values[:, 0], near.values[:, -1], rtol=1e-4, atol=1e-5)


def test_finer_times_lie_on_the_way_and_do_not_change_it(build: Build, waves: Waves):
    network, data = build(method="tfm", trained=True), waves(1, ())
    coarse = forecast(network, data.first(6), STEP * torch.arange(5, 9, dtype=torch.float64)).values
    fine = forecast(network, data.first(6), STEP * torch.arange(20, 34, dtype=torch.float64) / 4).values
    torch.testing.assert_close(fine[:, ::4], coarse, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(fine[:, 2:12:4], 0.5 * (coarse[:, :-1] + coarse[:, 1:]), rtol=1e-4, atol=1e-5)
    # asked at its start, it gives back the observation
    torch.testing.assert_close(fine[:, 0], data.values[:, 5].float())


def test_intervals_end_where_asked_if_such_intervals_were_learned():
    times = torch.tensor([[0.3, 0.8, 1.5, 9.0]], dtype=torch.float64)
    one = torch.ones((), dtype=torch.float64)
    ends = {}
    for shortest in (1.0, 0.25):
        clock = Clock(torch.zeros(1, dtype=torch.float64), times, times.isfinite(), one, shortest * one)
        found = []
        while bool(clock.left.any()):
            clock = clock.after(clock.end())
            found.append(float(clock.now))
        ends[shortest] = found
    assert ends[1.0] == pytest.approx([1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert ends[0.25] == pytest.approx([0.8, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.0])


def test_what_was_not_asked_is_nan(build: Build, waves: Waves):
    network, data = build(method="tfm"), waves(1, ())
    solution = forecast(network, data.first(6), torch.tensor([STEP * 6, torch.inf], dtype=torch.float64))
    assert bool(solution.values[:, 0].isfinite().all())
    assert bool(solution.values[:, 1].isnan().all())
    assert not solution.status.any()


def test_a_member_that_diverges_is_lost_alone(build: Build, waves: Waves, monkeypatch: pytest.MonkeyPatch):
    network, data = build(method="tfm"), waves(1, ())
    bad = torch.arange(len(data)) == 2
    monkeypatch.setattr(
        network.next_point, "forward", lambda x, part, steps, memory, ahead: x / torch.where(bad, 0.0, 1.0)[:, None]
    )
    solution = forecast(network, data.first(6), STEP * torch.arange(5, 9, dtype=torch.float64))
    assert (solution.status == Status.NOT_FINITE).tolist() == bad.tolist()
    assert bool(solution.values[bad][:, 0].isfinite().all())
    assert not bool(solution.values[bad][:, 1:].isfinite().any())
    assert bool(solution.values[~bad].isfinite().all())


def test_a_time_too_far_is_given_up(build: Build, waves: Waves):
    network, data = build(method="tfm"), waves(1, ())
    asked = torch.tensor([STEP * 8, STEP * 1000], dtype=torch.float64)
    solution = forecast(network, data.first(6), asked, intervals=10)
    assert bool((solution.status == Status.TOO_MANY_STEPS).all())
    assert bool(solution.values[:, 0].isfinite().all())
    assert bool(solution.values[:, 1].isnan().all())


def test_a_kick_is_an_error_of_the_velocity(build: Build, waves: Waves, monkeypatch: pytest.MonkeyPatch):
    network, data = build(method="tfm"), waves(1, ())
    monkeypatch.setattr(network.next_point, "forward", lambda x, part, steps, memory, ahead: memory.last)
    network.noise.copy_(torch.tensor([0.1, 0.0]))
    network.widening.fill_(2.0)
    asked = STEP * torch.arange(6, 11, dtype=torch.float64)
    values = forecast(network, data.first(6), asked, draws=4000).values.reshape(4000, 5, 5, 2)
    wanted = 0.2 * network.scales.velocity[0] * STEP * torch.arange(1, 6)
    torch.testing.assert_close(values[..., 0].std(0), wanted.expand(5, 5), rtol=0.05, atol=0)
    assert float(values[..., 1].std(0).max()) < 1e-6
