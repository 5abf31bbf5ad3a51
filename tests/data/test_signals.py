from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.data.signals import Signals
from greymatch.errors import GreymatchError

INF = float("inf")
TIMES = torch.tensor([[0.0, 1.0, 2.0, 4.0], [1.0, 3.0, INF, INF]], dtype=torch.float64)
ROWS = torch.arange(2)


def line(slope: float = 3.0, kind: str = "linear") -> Signals:
    values = (slope * TIMES + 1).masked_fill(~TIMES.isfinite(), 0.0)[..., None]
    return Signals(("u",), TIMES, values, kind)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_a_straight_line_is_met_between_its_samples(kind):
    asked = torch.tensor([[0.5, 1.0, 3.7], [1.0, 2.2, 3.0]], dtype=torch.float64)
    torch.testing.assert_close(line(kind=kind).at(ROWS, asked)[..., 0], 3 * asked + 1)


def test_rows_choose_the_trajectory():
    times = torch.tensor([[2.0], [2.0], [2.0]], dtype=torch.float64)
    signals = Signals(("u",), TIMES, torch.stack([torch.zeros(4), torch.ones(4)])[..., None].double(), "linear")
    assert signals.at(torch.tensor([1, 0, 1]), times).flatten().tolist() == [1.0, 0.0, 1.0]


def test_what_the_mask_hides_is_no_sample():
    values = torch.tensor([0.0, 99.0, 2.0, 4.0], dtype=torch.float64)[None, :, None]
    mask = torch.tensor([True, False, True, True])[None, :, None]
    signals = Signals(("u",), TIMES[:1], values, "linear", mask)
    asked = torch.tensor([[0.5, 1.0, 1.5]], dtype=torch.float64)
    torch.testing.assert_close(signals.at(ROWS[:1], asked)[..., 0], asked)


def test_cover_is_asked_of_each_trajectory_and_each_input():
    signals, labels = line(), np.array(["a", "b"])
    signals.check_covers(ROWS, torch.tensor([[0.0, 4.0], [1.0, 3.0]]), labels)
    signals.check_covers(ROWS, torch.tensor([[0.0, 4.0], [1.0, INF]]), labels)
    with pytest.raises(GreymatchError, match=r"'u' of trajectory 'b' is known from 1 to 3, asked at 3\.5"):
        signals.check_covers(torch.tensor([1]), torch.tensor([[3.5]]), labels)
    mask = torch.ones(1, 4, 2, dtype=torch.bool)
    mask[0, 3, 1] = False
    both = Signals(("u", "w"), TIMES[:1], torch.zeros(1, 4, 2).double(), "linear", mask)
    with pytest.raises(GreymatchError, match="'w' of trajectory 'a' is known from 0 to 2, asked at 3"):
        both.check_covers(ROWS[:1], torch.tensor([[3.0]]), labels)


def test_held_signals_stay_until_their_next_sample():
    asked = torch.tensor([[0.0, 0.9, 1.0, 3.9, 4.0], [0.5, 1.0, 2.9, 3.0, 3.0]], dtype=torch.float64)
    held = line(kind="hold").at(ROWS, asked)[..., 0]
    assert held.tolist() == [[1.0, 1.0, 4.0, 7.0, 13.0], [4.0, 4.0, 4.0, 10.0, 10.0]]


def test_held_signals_pass_over_what_is_no_sample():
    values = torch.tensor([[9.0, 1.0, 9.0, 2.0], [5.0, 6.0, 0.0, 0.0]], dtype=torch.float64)[..., None]
    mask = torch.tensor([[False, True, False, True], [True, True, False, False]])[..., None]
    held = Signals(("u",), TIMES, values, "hold", mask)
    asked = torch.tensor([[0.5, 1.5, 3.0, 4.0]], dtype=torch.float64)
    assert held.at(ROWS[:1], asked)[..., 0].tolist() == [[1.0, 1.0, 1.0, 2.0]]


def test_a_single_sample_can_be_held():
    one = Signals(("u",), TIMES[:, :1], torch.ones(2, 1, 1).double(), "hold")
    assert one.at(ROWS, TIMES[:, :1]).flatten().tolist() == [1.0, 1.0]


def test_functions_stand_beside_samples_and_are_known_at_all_times():
    both = replace(line(), names=("u", "w"), values=line().values.repeat(1, 1, 2), functions={"w": np.cos})
    asked = torch.tensor([[0.5, 1.5], [1.5, 2.5]], dtype=torch.float64)
    found = both.at(ROWS, asked)
    torch.testing.assert_close(found[..., 0], 3 * asked + 1)
    torch.testing.assert_close(found[..., 1], asked.cos())
    alone = Signals(("w",), TIMES, torch.zeros(2, 4, 1).double(), functions={"w": lambda t: np.array(2.0)})
    alone.check_covers(ROWS, torch.tensor([[-1e6], [1e6]]), np.array(["a", "b"]))
    assert alone.select(ROWS[:1]).at(ROWS[:1], torch.tensor([[100.0]])).item() == 2.0


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (math.sin, "function of a NumPy array of times.*fails"),
        (lambda t: t[:, :1, None], "function of a NumPy array of times"),
        (lambda t: np.full_like(t, np.nan), r"must be finite at all times; at 1 it is nan\. Guard"),
        (lambda t: "high", "function of a NumPy array of times"),
    ],
)
def test_functions_that_do_not_serve_are_refused(function, said):
    signals = replace(line(), functions={"u": function})
    with pytest.raises(GreymatchError, match=said):
        signals.at(ROWS, torch.ones(2, 3).double())


def test_a_function_need_not_be_known_where_no_time_is():
    signals = replace(line(), functions={"u": lambda t: np.divide(1.0, t, out=np.full_like(t, np.nan), where=t > 0)})
    found = signals.at(ROWS, torch.tensor([[1.0, 2.0], [4.0, torch.inf]]).double())
    torch.testing.assert_close(found[..., 0], torch.tensor([[1.0, 0.5], [0.25, 0.0]]).double())


def test_select_keeps_values_mask_and_kind():
    picked = line(kind="cubic").select(torch.tensor([1]))
    assert (picked.kind, picked.times[0, :2].tolist()) == ("cubic", [1.0, 3.0])
    assert picked.seen[0, :, 0].tolist() == [True, True, False, False]
    asked = torch.tensor([[2.0]], dtype=torch.float64)
    torch.testing.assert_close(picked.at(torch.tensor([0]), asked), torch.full((1, 1, 1), 7.0).double())


def test_kind_and_shape_are_checked_at_once():
    with pytest.raises(GreymatchError, match=r"`input_kind` must be one of hold, linear.*got 'cubik'.*'cubic'"):
        line(kind="cubik")
    with pytest.raises(GreymatchError, match=r"input `values` must be .* = \(2, 4, 2\); got \(2, 4, 1\)"):
        Signals(("u", "w"), TIMES, torch.zeros(2, 4, 1))
    with pytest.raises(GreymatchError, match="input `mask` must be"):
        Signals(("u",), TIMES, torch.zeros(2, 4, 1), "linear", torch.ones(2, 4, dtype=torch.bool))
