from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.models import solving
from greymatch.models.collocation import Solved, collocated, smoothed
from greymatch.models.greybox import GreyBox
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.simulation.solve import Solution, solve
from greymatch.simulation.status import Status

DRAWS, ROWS, TOLERANCE = 400, 4, 1e-6
TIMES = torch.linspace(0.2, 4.0, 20, dtype=torch.float64)
EXACT = torch.full((1,), TOLERANCE)
Right = Callable[[Tensor, Tensor], Tensor]


@dataclass
class Counting:
    """Solves x' = right(x, numbers) from `start`, and remembers how many members it was asked for."""

    right: Right
    start: Tensor
    numbers: Tensor
    times: Tensor
    asked: list[int] = field(default_factory=list)

    def __call__(self, members: Tensor) -> Solution:
        self.asked.append(len(members))
        own = self.numbers.flatten(0, 1)[members]
        origin, times = torch.zeros(len(members)).double(), self.times.expand(len(members), -1)
        start = self.start.expand(len(members), -1)
        return solve(lambda t, x: self.right(x, own), start, origin, times, TOLERANCE / 10)


def drawn(width: float, size: int = 2, draws: int = DRAWS) -> Tensor:
    """Numbers about another middle in each trajectory."""
    generator = torch.Generator().manual_seed(3)
    noise = torch.randn(draws, ROWS, size, generator=generator, dtype=torch.float64)
    return 1 + 0.2 * torch.arange(ROWS)[:, None] + width * noise


def swinging(width: float, **more: int) -> Counting:
    def right(x: Tensor, own: Tensor) -> Tensor:
        return torch.stack([x[:, 1], -own[:, 0] * x[:, 0].sin() - 0.1 * own[:, 1] * x[:, 1]], 1)

    return Counting(right, torch.tensor([1.0, 0.0]).double(), drawn(width, **more), TIMES)


def every(way: Counting) -> Solved:
    return Solved.of(way(torch.arange(way.numbers.shape[:2].numel())), len(way.numbers))


def test_members_of_a_nonlinear_system_are_what_solving_gives() -> None:
    way = swinging(0.02)
    found = collocated(way, way.numbers, EXACT)
    assert sum(way.asked) < DRAWS * ROWS / 4
    wrong = found.values - every(way).values
    assert float(wrong.square().mean((0, 1)).sqrt().max()) < TOLERANCE
    assert float(wrong.abs().max()) < 5 * TOLERANCE
    assert bool((found.status == Status.SOLVED).all())


@pytest.mark.parametrize("degree", [1, 2])
def test_a_polynomial_comes_out_exactly_at_its_own_degree(degree: int) -> None:
    numbers, asked = drawn(0.002), list[int]()

    def power(members: Tensor) -> Solution:
        asked.append(len(members))
        a, b = numbers.flatten(0, 1)[members].unbind(1)
        values = (a + 2 * b)[:, None, None] ** degree * TIMES[:, None]
        return Solution(values, torch.zeros(len(members), dtype=torch.long), 1)

    found = collocated(power, numbers, EXACT)
    assert len(asked) == degree
    assert sum(asked) < DRAWS * ROWS / 4
    wanted = Solved.of(power(torch.arange(DRAWS * ROWS)), DRAWS)
    torch.testing.assert_close(found.values, wanted.values, rtol=0, atol=1e-10)


def test_of_wide_ensembles_every_member_is_solved() -> None:
    way = swinging(0.8)
    found = collocated(way, way.numbers, EXACT)
    assert sum(way.asked) == DRAWS * ROWS
    torch.testing.assert_close(found.values, every(way).values, rtol=0, atol=1e-9)


def test_of_chaos_every_member_is_solved() -> None:
    def lorenz(x: Tensor, own: Tensor) -> Tensor:
        a, b, c = x.unbind(1)
        return torch.stack([10 * (b - a), a * (28 * own[:, 0] - c) - b, a * b - 8 / 3 * c], 1)

    way = Counting(lorenz, torch.ones(3).double(), drawn(1e-3, 1, 60), 3 * TIMES)
    found = collocated(way, way.numbers, EXACT)
    assert way.asked == [14 * ROWS, 46 * ROWS]
    torch.testing.assert_close(found.values, every(way).values, rtol=0, atol=1e-2)


def test_of_few_draws_all_are_solved_at_once() -> None:
    way = swinging(0.02, draws=24)
    collocated(way, way.numbers, EXACT)
    assert way.asked == [24 * ROWS]


def test_where_a_member_fails_all_of_its_trajectory_are_solved() -> None:
    # x' = k x^2 from 1 is infinite at t = 1 / k: of the last trajectory's members, some before they are asked
    way = Counting(lambda x, own: own * x**2, torch.ones(1).double(), drawn(0.02, 1), 0.63 * TIMES / TIMES[-1])
    found, wanted = collocated(way, way.numbers, EXACT), every(way)
    assert 0 < int((wanted.status != Status.SOLVED).sum()) < DRAWS
    assert torch.equal(found.status, wanted.status)
    assert torch.equal(found.values.isnan(), wanted.values.isnan())


def test_members_that_do_not_differ_are_solved_once_or_so() -> None:
    way = swinging(0.0)
    found = collocated(way, way.numbers, EXACT)
    assert sum(way.asked) < 20 * ROWS
    torch.testing.assert_close(found.values, every(way).values, rtol=0, atol=1e-9)


def test_times_that_are_not_asked_stay_empty() -> None:
    way = swinging(0.02)
    way.times = torch.cat([TIMES, torch.full((2,), torch.inf)])
    found = collocated(way, way.numbers, EXACT).values
    assert bool(found[:, :, -2:].isnan().all())
    assert bool(found[:, :, :-2].isfinite().all())
    assert sum(way.asked) < DRAWS * ROWS / 4


def forced(kind: str, rows: int = 6, points: int = 20) -> Trajectories:
    """x = cos(2 t + i), observed with noise, beside an input that goes up and down, or is switched on and off."""
    times = 0.1 * torch.arange(points, dtype=torch.float64)
    generator = torch.Generator().manual_seed(5)
    values = torch.cos(2 * times + torch.arange(rows)[:, None])[..., None]
    values = values + 1e-3 * torch.randn(values.shape, generator=generator, dtype=torch.float64)
    clock = 0.5 * torch.arange(13, dtype=torch.float64).repeat(rows, 1)
    signals = Signals(("push",), clock, (torch.arange(13.0) % 2).expand(rows, -1)[..., None], kind=kind)
    seen = torch.ones_like(values, dtype=torch.bool)
    return Trajectories(("x",), times.repeat(rows, 1), values, seen, np.arange(rows), inputs=signals)


@pytest.fixture
def push(greybox: Callable[..., GreyBox]) -> Callable[[str], tuple[GreyBox, Trajectories]]:
    """A model of order 2 with an input, whose members start with velocities of their own."""

    def right(t, x, p, u):
        return {"x": -(p.w**2) * x.x + 0.1 * u.push}

    def make(kind: str) -> tuple[GreyBox, Trajectories]:
        data = forced(kind)
        model = greybox(Physics(right, ["x"], {"w": Normal(2.0, 0.1)}, 2, ("push",)), data)
        model.network.observed.fill_(1e-3)
        model.network.widening.fill_(0.05)
        return model, data

    return make


@pytest.fixture
def pushed(push) -> tuple[GreyBox, Trajectories]:
    return push("cubic")


LATER = torch.arange(2.0, 5.0, 0.2)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    usual, asked = solving.roll_out, list[int]()

    def roll_out(network, start, members, *more):
        asked.append(len(start))
        return usual(network, start, members, *more)

    monkeypatch.setattr(solving, "roll_out", roll_out)
    return asked


def test_a_forecast_of_order_two_with_inputs_is_what_solving_gives(pushed, monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = pushed
    asked = counted(monkeypatch)
    found = model.forecast(data, LATER, draws=500)
    assert sum(asked) < 500 * len(data) / 2
    monkeypatch.setattr(solving, "FEW", 10**9)
    wanted = model.forecast(data, LATER, draws=500)
    wrong = (found.draws - wanted.draws) / model.network.scales.spread
    assert float(wrong.square().mean((0, 1)).sqrt().max()) < 1e-5
    assert float(wanted.draws.std(0).min()) > 1e-4


def test_where_an_input_jumps_and_solutions_with_it_every_member_is_solved(
    push, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, data = push("hold")
    asked = counted(monkeypatch)
    model.forecast(data, LATER, draws=500, tolerance=1e-7)
    assert sum(asked) == 500 * len(data)


def test_blocks_make_no_difference(pushed, monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = pushed
    whole = model.forecast(data, LATER, draws=500).draws
    monkeypatch.setattr(solving, "FEW", 0)
    for most in (1700, 1000):  # three trajectories at once, and two
        monkeypatch.setattr(solving, "MEMBERS_AT_ONCE", most)
        torch.testing.assert_close(model.forecast(data, LATER, draws=500).draws, whole, rtol=0, atol=2e-5)


def test_a_seed_gives_the_same_forecast(pushed) -> None:
    model, data = pushed
    one, other = (model.forecast(data, LATER, draws=500, seed=2).draws for _ in range(2))
    assert torch.equal(one, other)


def test_what_recalls_its_history_is_never_summed(greybox, pushed, monkeypatch: pytest.MonkeyPatch) -> None:
    _, data = pushed
    model = greybox(Physics(lambda t, x, p, u: {"x": -x.x}, ["x"], {"w": 1.0}, 1, ("push",)), data, method="tfm")
    monkeypatch.setattr(solving, "collocated", None)
    assert len(model.forecast(data, [2.1, 2.2], draws=500).draws) == 500


def test_members_that_hardly_differ_are_as_far_apart_when_smoothed_as_what_they_differ_by_makes_them() -> None:
    """Members are linear in two numbers, and each errs by its own steps: sums keep the one and average the other."""
    generator = torch.Generator().manual_seed(0)
    numbers = 1e-3 * torch.randn(40, 3, 2, generator=generator)
    right = (numbers @ torch.tensor([[1.0, -2.0], [0.5, 3.0]]))[:, :, None] + torch.linspace(0, 1, 5)[:, None]
    solved = right + 1e-4 * torch.randn(right.shape, generator=generator)
    found = smoothed(solved, numbers, torch.tensor([1e-3, 1e-3]))
    assert float((found - right).square().mean().sqrt()) < 0.4 * float((solved - right).square().mean().sqrt())
    # three terms of forty members: what each keeps of its own error
    assert float((found - right).square().mean().sqrt()) == pytest.approx(1e-4 * (3 / 40) ** 0.5, rel=0.2)


def test_members_that_sums_do_not_reach_or_that_failed_are_left_as_they_are() -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(40, 2, 1, generator=generator)
    values = (3 * numbers).sin()[:, :, None].clone()
    values[7, 1] = torch.nan
    assert torch.equal(smoothed(values, numbers, torch.tensor([1e-3])).nan_to_num(9.0), values.nan_to_num(9.0))


def test_so_many_differences_that_sums_would_be_the_members_are_not_looked_at() -> None:
    """As of a field that starts with noise on each cell."""
    generator = torch.Generator().manual_seed(0)
    values, numbers = torch.randn(24, 2, 3, 1, generator=generator), torch.randn(24, 2, 8, generator=generator)
    assert smoothed(values, numbers, torch.tensor([1e3])) is values
