from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows, gather, last_window, readable
from greymatch.errors import GreymatchError

Recordings = Callable[..., st.SearchStrategy[Trajectories]]


def ramps(*lengths: int, states: int = 1) -> Trajectories:
    """Row i holds 100 i + j at time j/2, state s adds 1000 s: every value tells where it came from."""
    longest = max(lengths)
    index = torch.arange(longest, dtype=torch.float64)
    ended = index >= torch.tensor(lengths)[:, None]
    times = (index / 2).repeat(len(lengths), 1).masked_fill(ended, torch.inf)
    values = index + 100 * torch.arange(len(lengths))[:, None]
    values = (values[..., None] + 1000 * torch.arange(states)).masked_fill(ended[..., None], 0.0)
    mask = ~ended[..., None].expand(values.shape)
    return Trajectories(("a", "b", "c")[:states], times, values, mask, np.arange(len(lengths)))


def draws(data: Trajectories, length: int) -> tuple[Windows, torch.Tensor, torch.Generator]:
    windows = Windows.of(data, length)
    generator = torch.Generator().manual_seed(0)
    return windows, windows.draw(200, generator), generator


@given(data=st.data(), length=st.integers(1, 5))
def test_every_window_lies_inside_its_trajectory(recordings: Recordings, data: st.DataObject, length: int):
    found = data.draw(recordings(fields=None, driven=False))
    assume(bool((found.lengths > length).any()))
    try:
        windows, chosen, _ = draws(found, length)
    except GreymatchError:
        assume(False)  # no window shows every state
        raise
    window, rows = windows.gather(chosen), windows.rows(chosen)
    assert bool(window.times.isfinite().all())
    assert bool((window.times.diff(dim=1) > 0).all())
    for i, row in enumerate(rows.tolist()):
        start = found.times[row].tolist().index(float(window.times[i, 0]))
        assert start + length < int(found.lengths[row])
        for name in ("times", "values", "mask"):
            assert torch.equal(getattr(window, name)[i], getattr(found, name)[row, start : start + length])
        assert bool(window.mask[i].reshape(length, len(found.states), -1).any(2).any(0).all())


@given(
    data=st.data(),
    length=st.integers(1, 4),
    points=st.integers(1, 9),
    horizon=st.none() | st.floats(1e-3, 5.0),
)
def test_matching_times_lie_in_the_future_and_within_the_horizon(
    recordings: Recordings, data: st.DataObject, length: int, points: int, horizon: float | None
):
    found = data.draw(recordings(fields=False, least=5))
    try:
        windows, chosen, generator = draws(found, length)
    except GreymatchError:
        assume(False)
        raise
    times = windows.future(chosen, points, horizon, generator)
    end = windows.gather(chosen).end[:, None]
    seen = found.mask.any(2) & found.times.isfinite()
    last = found.times.masked_fill(~seen, -torch.inf).amax(1)[windows.rows(chosen), None]
    assert times.shape == (200, points)
    assert bool((times > end).all())
    assert bool((times <= last).all())
    assert bool((times.diff(dim=1) > 0).all())
    if horizon is not None:
        assert bool((times <= end + horizon * (1 + 1e-12)).all())


def test_all_windows_of_ragged_data_are_found_and_none_else():
    windows = Windows.of(ramps(6, 3, 4), length=3)
    window = windows.gather(torch.arange(len(windows)))
    # a window needs three points and one more for its future
    assert window.values[:, :, 0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [200, 201, 202]]
    assert windows.rows(torch.arange(len(windows))).tolist() == [0, 0, 0, 2]


def test_windows_are_drawn_evenly():
    windows = Windows.of(ramps(6, 3, 4), length=3)
    counts = windows.draw(40_000, torch.Generator().manual_seed(1)).bincount()
    assert len(counts) == 4
    assert bool(((counts / 10_000 - 1).abs() < 0.05).all())


def test_matching_times_reach_the_whole_future_and_favour_the_near_one():
    windows = Windows.of(ramps(21), length=1)
    first = torch.zeros(4000, dtype=torch.long)
    part = windows.future(first, 4, None, torch.Generator().manual_seed(0)) / 10.0
    assert float(part.min()) < 1e-3
    assert float(part.max()) > 0.999
    # t = T s^2 with s uniform has the mean T/3 and the median T/4
    assert float(part.mean()) == pytest.approx(1 / 3, abs=0.01)
    assert float(part.median()) == pytest.approx(1 / 4, abs=0.01)


def test_the_same_generator_gives_the_same_draws():
    windows = Windows.of(ramps(9, 12), length=3)
    one, two = (torch.Generator().manual_seed(5) for _ in range(2))
    assert torch.equal(windows.draw(50, one), windows.draw(50, two))
    chosen = torch.arange(6)
    assert torch.equal(windows.future(chosen, 3, None, one), windows.future(chosen, 3, None, two))


def test_inputs_are_those_at_the_times_of_the_window():
    data = ramps(8, 8)
    when = torch.linspace(0, 4, 33, dtype=torch.float64).repeat(2, 1)
    data = replace(data, inputs=Signals(("u",), when, torch.stack([when[0] ** 2, -when[1]])[..., None]))
    window = gather(data, torch.tensor([1, 0]), torch.tensor([4, 7]), 3)
    assert window.inputs is not None
    torch.testing.assert_close(window.inputs[0, :, 0], -window.times[0])
    torch.testing.assert_close(window.inputs[1, :, 0], window.times[1] ** 2)


def test_the_last_window_ends_with_each_trajectory():
    window = last_window(ramps(6, 3, 4), 3)
    assert window.values[:, :, 0].tolist() == [[3, 4, 5], [100, 101, 102], [201, 202, 203]]
    assert window.end.tolist() == [2.5, 1.0, 1.5]


def test_times_without_any_observation_are_no_part_of_a_history():
    data = ramps(6, 6)
    data.mask[0, 4:] = False  # as NaN at the end of a shared time axis
    window = last_window(data, 3)
    assert window.values[:, :, 0].tolist() == [[1, 2, 3], [103, 104, 105]]
    assert window.end.tolist() == [1.5, 2.5]


def test_no_window_ends_in_a_gap_nor_reaches_beyond_the_last_observation():
    data = ramps(9)
    data.mask[0, 3] = False
    data.mask[0, 7:] = False
    windows = Windows.of(data, 2)
    window = windows.gather(torch.arange(len(windows)))
    assert window.values[:, -1, 0].tolist() == [1, 2, 4, 5]
    future = windows.future(torch.zeros(500, dtype=torch.long), 4, None, torch.Generator().manual_seed(0))
    assert float(future.max()) <= 3.0  # the time of the last observation


def test_windows_that_do_not_show_every_state_are_left_out():
    data = ramps(8, states=2)
    data.mask[0, 2:6, 1] = False
    windows = Windows.of(data, 3)
    window = windows.gather(torch.arange(len(windows)))
    assert window.values[:, -1, 0].tolist() == [2, 3, 6]


def test_a_state_missing_from_the_last_window_is_named():
    data = ramps(6, 6, states=2)
    data.mask[1, 3:, 1] = False
    with pytest.raises(
        GreymatchError, match=r"every state in its last 3 points.*'b' of trajectory 1 has no value there"
    ):
        last_window(data, 3)


def test_recordings_can_be_read_whose_last_window_is_there_and_shows_every_state():
    data = ramps(6, 3, 6, 6, states=2)
    mask = data.mask.clone()
    mask[2, 2:, 1] = False  # unseen in the last four points
    mask[3, 5:] = False  # the last time without any observation does not count
    assert readable(replace(data, mask=mask), 4).tolist() == [True, False, False, True]
    assert readable(data, 6).tolist() == [True, False, True, True]


def test_a_history_shorter_than_the_window_is_named():
    with pytest.raises(GreymatchError, match=r"at least the 4 points.*trajectory 1 has 3\. Give a longer history"):
        last_window(ramps(6, 3, 4), 4)


def test_a_window_that_leaves_no_future_is_refused():
    with pytest.raises(GreymatchError, match=r"`window` must .*leave a future.*is 6 points, and the longest.* has 6"):
        Windows.of(ramps(6, 3), 6)


def test_windows_of_noisy_data_are_smoothed_by_themselves(swings):
    data = replace(swings[0].select(slice(0, 3)), noise=(0.02,))
    windows = Windows.of(data, 12)
    chosen = torch.tensor([0, 40, 7])
    one, other = windows.gather(chosen), windows.banked(room=1e9).gather(chosen)
    assert one.smooth is not None
    assert other.smooth is not None
    torch.testing.assert_close(one.smooth.values, other.smooth.values)
    assert torch.equal(one.values, other.values), "what was observed stays"
    rows, ends = windows.pairs[chosen].unbind(1)
    alone = data.select(rows[1:2]).first(int(ends[1]) + 1)
    alone = replace(alone, times=alone.times[:, -12:], values=alone.values[:, -12:], mask=alone.mask[:, -12:])
    torch.testing.assert_close(one.smooth.values[1:2], alone.smoothed().values, rtol=0, atol=1e-7)
    assert windows.banked(room=0).bank is None
    assert windows.gather(chosen).smoothed().smooth is None


def test_matching_times_within_windows_lie_after_their_first_steps(swings):
    windows, chosen, generator = draws(swings[0], 12)
    times, window = windows.within(chosen, 5, generator), windows.gather(chosen)
    assert bool((times >= window.times[:, 3:4]).all())
    assert bool((times <= window.times[:, -1:]).all())
    assert float(times.max()) > float(window.times[:, 3].min())
