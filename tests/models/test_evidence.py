from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.models.evidence import FEWEST_POINTS, Evidence


def window_of(curve: Callable[[Tensor], Tensor], points: int = 12, step: float = 0.1) -> Window:
    """Two copies of a curve of one state, seen at `points` times up to t = 1."""
    times = (1 + step * torch.arange(1 - points, 1, dtype=torch.float64)).repeat(2, 1)
    values = curve(times)[..., None]
    return Window(times, values, torch.ones_like(values, dtype=torch.bool), None)


def sine(order: int) -> Callable[[Tensor], Tensor]:
    """3 sin(2 t), and its derivatives."""
    return lambda t: 3 * 2**order * torch.sin(2 * t + order * math.pi / 2)


@pytest.mark.parametrize(("order", "top"), [(1, lambda t: 4 * t**3 - 1), (2, lambda t: 12 * t**2)])
def test_a_polynomial_that_both_stencils_pass_through_leaves_no_doubt(order: int, top: Callable[[Tensor], Tensor]):
    window = window_of(lambda t: t**4 - t)
    evidence = Evidence.of(window, stencil=5, order=order)
    torch.testing.assert_close(evidence.top[..., 0], top(window.times).float(), rtol=1e-5, atol=1e-5)
    assert float(evidence.doubt.max()) < 1e-5


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("step", [0.05, 0.1, 0.2])
def test_a_derivative_is_not_further_off_than_its_doubt(order: int, step: float):
    window = window_of(sine(0), step=step)
    evidence = Evidence.of(window, stencil=5, order=order)
    wrong = (evidence.top[..., 0] - sine(order)(window.times)).abs()
    assert bool((wrong <= evidence.doubt[..., 0] + 1e-5).all())


@pytest.mark.parametrize(("order", "power"), [(1, 2), (2, 1)])
def test_doubt_shrinks_with_the_step_as_the_shorter_stencil_does(order: int, power: int):
    # three points give x' to order 2, and x'' to order 1 where they are one-sided
    wide, half = (float(Evidence.of(window_of(sine(0), 8, h), 3, order).doubt.max()) for h in (0.02, 0.01))
    assert math.log2(wide / half) == pytest.approx(power, abs=0.15)


def test_where_a_doubt_vanishes_by_chance_that_of_its_neighbours_counts():
    # central differences of t^4 are off by 4 t h^2, which is nothing at t = 0
    window = window_of(lambda t: t**4, points=21)
    inside = slice(2, -2)
    doubt = Evidence.of(window, stencil=3, order=1).doubt[:, inside, 0]
    torch.testing.assert_close(doubt, 0.04 * (window.times[:, inside].abs() + 0.1).float(), rtol=1e-3, atol=1e-6)


def test_a_point_counts_only_if_all_states_were_seen_there_and_are_known_where_its_stencil_reads():
    times = torch.arange(20, dtype=torch.float64).repeat(2, 1)
    values = torch.stack([times.sin(), times.cos()], -1)[..., None].expand(2, 20, 2, 3)
    mask = torch.ones(values.shape, dtype=torch.bool)
    mask[0, 10, 1, 2] = mask[1, :2, 0, 0] = False
    evidence = Evidence.of(Window(times, values, mask, None), 3, 1)
    assert evidence.seen.shape == (2, 20, 1, 3)
    unsound = [[0, 10, 0, 2]] + [[1, i, 0, 0] for i in range(4)]
    assert (evidence.seen == 0).nonzero().tolist() == unsound
    assert evidence.points.tolist() == [19, 16]


def test_what_counts_beside_gaps_is_as_good_as_without_them():
    window = window_of(sine(0), 24)
    mask = window.mask.clone()
    mask[:, 5], mask[:, 15] = False, False
    whole, gappy = (Evidence.of(Window(window.times, window.values, m, None), 5, 2) for m in (window.mask, mask))
    sound = gappy.seen.expand_as(gappy.top) > 0
    assert bool(((gappy.top - whole.top).abs() <= 2 * gappy.doubt)[sound].all())
    assert int(gappy.seen.sum()) == int(whole.seen.sum()) - 4


@pytest.mark.parametrize("order", [1, 2])
def test_four_points_are_enough(order: int):
    evidence = Evidence.of(window_of(sine(0), FEWEST_POINTS), stencil=7, order=order)
    assert evidence.top.shape == evidence.doubt.shape == (2, FEWEST_POINTS, 1)
    wrong = (evidence.top[..., 0] - sine(order)(window_of(sine(0), FEWEST_POINTS).times)).abs()
    assert bool((wrong <= evidence.doubt[..., 0]).all())


def test_the_phase_of_order_2_holds_the_velocity_that_the_stencil_gives():
    window = window_of(lambda t: t**3, 9)
    phase = Evidence.of(window, stencil=5, order=2).phase
    wanted = torch.stack([window.times**3, 3 * window.times**2], -1).float()
    torch.testing.assert_close(phase, wanted, rtol=1e-5, atol=1e-5)


def test_inputs_and_times_pass_through():
    window = window_of(sine(0))
    driven = Window(window.times, window.values, window.mask, torch.rand(2, 12, 3, dtype=torch.float64))
    evidence = Evidence.of(driven, 5, 1)
    assert driven.inputs is not None
    assert evidence.inputs is not None
    torch.testing.assert_close(evidence.inputs, driven.inputs.float())
    assert torch.equal(evidence.times, window.times)
    assert Evidence.of(window, 5, 1).inputs is None


@pytest.mark.parametrize("order", [1, 2])
def test_each_pixel_of_a_grid_has_its_own_evidence(order: int):
    times = 0.1 * torch.arange(9, dtype=torch.float64).repeat(2, 1)
    pace = torch.rand(2, 1, 2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = torch.sin(pace * times[:, :, None, None, None])
    whole = Evidence.of(Window(times, values, torch.ones_like(values, dtype=torch.bool), None), 5, order)
    assert whole.top.shape == whole.doubt.shape == (2, 9, 2, 4, 3)
    assert whole.phase.shape == (2, 9, 2 * order, 4, 3)
    pixel = values[..., 1, 2]
    alone = Evidence.of(Window(times, pixel, torch.ones_like(pixel, dtype=torch.bool), None), 5, order)
    torch.testing.assert_close(whole.top[..., 1, 2], alone.top)
    torch.testing.assert_close(whole.doubt[..., 1, 2], alone.doubt)


@pytest.mark.parametrize("most", [1, 5, 12, 40])
def test_thinned_evidence_is_some_of_it_ends_included(most: int):
    evidence = Evidence.of(window_of(sine(0)), stencil=5, order=1)
    few = evidence.thinned(most)
    assert few.times.shape == (2, min(most, 12))
    kept = [int((evidence.times[0] == time).nonzero()[0]) for time in few.times[0]]
    assert kept == sorted(set(kept))
    assert most == 1 or (kept[0], kept[-1]) == (0, 11)
    for name in ("phase", "top", "doubt", "seen"):
        assert torch.equal(getattr(few, name), getattr(evidence, name)[:, kept])
