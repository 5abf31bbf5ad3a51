from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError

INF = float("inf")


def recording(times: list[list[float]], labels: list[object] | None = None) -> Trajectories:
    clock = torch.tensor(times, dtype=torch.float64)
    mask = clock.isfinite()[..., None]
    values = torch.where(mask, clock.nan_to_num(posinf=0.0)[..., None], 0.0)
    return Trajectories(("x",), clock, values, mask, np.array(labels or list(range(len(times)))))


@settings(max_examples=50)
@given(data=st.data())
def test_selecting_a_permutation_and_its_inverse_changes_nothing(data, recordings, same):
    whole = data.draw(recordings(fields=None))
    order = np.array(data.draw(st.permutations(range(len(whole)))))
    same(whole.select(order).select(np.argsort(order)), whole)


@settings(max_examples=50)
@given(data=st.data())
def test_selected_rows_are_those_of_the_whole(data, recordings):
    whole = data.draw(recordings(driven=True))
    rows = data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=6))
    part = whole.select(rows)
    assert part.labels.tolist() == [whole.labels[row] for row in rows]
    assert torch.equal(part.values, whole.values[rows])
    assert part.inputs is not None
    assert whole.inputs is not None
    assert torch.equal(part.inputs.seen, whole.inputs.seen[rows])
    assert all(np.array_equal(part.truth[name], value[rows]) for name, value in whole.truth.items())


def test_select_takes_slices_masks_and_tensors():
    whole = recording([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    for rows in (slice(1, None), [False, True, True], torch.tensor([1, 2]), np.array([-2, -1])):
        assert whole.select(rows).labels.tolist() == [1, 2]


@pytest.mark.parametrize("rows", [[], [3], [[0, 1]], [0.5], 1])
def test_select_refuses_what_is_no_list_of_rows(rows):
    with pytest.raises(GreymatchError, match="`rows` must"):
        recording([[0.0, 1.0], [0.0, 2.0]]).select(rows)


def test_a_selection_may_lack_a_state_that_others_have():
    whole = recording([[0.0, 1.0], [0.0, 2.0]])
    mask = whole.mask.clone()
    mask[1] = False
    gappy = dataclasses.replace(whole, mask=mask, values=whole.values * mask)
    assert not gappy.select([1]).mask.any()


@settings(max_examples=50)
@given(data=st.data())
def test_until_keeps_exactly_the_times_up_to_and_including_t(data, recordings):
    whole = data.draw(recordings(fields=None))
    known = whole.times[whole.times.isfinite()].tolist()
    t = data.draw(st.sampled_from([time for time in known if time >= float(whole.times[:, 0].max())]))
    history = whole.until(t)
    for before, after in zip(whole.times.tolist(), history.times.tolist(), strict=True):
        assert [time for time in after if time < INF] == [time for time in before if time <= t]
    assert torch.equal(history.mask.sum(1), (whole.mask * _shaped(whole.times <= t, whole.mask)).sum(1))
    assert history.inputs is whole.inputs


def _shaped(kept: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return kept.reshape(*kept.shape, *(1,) * (like.ndim - 2))


def test_until_forgives_rounding_and_no_more():
    data = recording([[0.0, 0.1, 0.1 + 0.2, 0.4]])
    assert data.until(0.3).lengths.tolist() == [3]
    assert data.until(0.2999).lengths.tolist() == [2]


def test_histories_are_cut_by_numbers():
    data: Any = recording([[1.0, 2.0]])
    with pytest.raises(GreymatchError, match=r"`t` must be a number.*got 'soon'"):
        data.until("soon")
    with pytest.raises(GreymatchError, match=r"`points` must be at least 1; got 1\.5"):
        data.first(1.5)


def test_until_works_on_single_points_and_names_a_trajectory_it_would_empty():
    assert recording([[1.0], [2.0]]).until(2.0).lengths.tolist() == [1, 1]
    with pytest.raises(GreymatchError, match=r"until\(1\.5\).* trajectory 'late' empty"):
        recording([[1.0, 2.0], [1.6, 2.6]], ["early", "late"]).until(1.5)


@settings(max_examples=50)
@given(data=st.data())
def test_split_is_a_partition_and_the_same_for_the_same_seed(data, recordings, same):
    whole = data.draw(recordings().filter(lambda found: len(found) > 1))
    fraction, seed = data.draw(st.floats(0.01, 0.99)), data.draw(st.integers(0, 99))
    parts = whole.split(fraction, seed)
    labels = [label for part in parts for label in part.labels.tolist()]
    assert sorted(labels) == sorted(whole.labels.tolist())
    assert min(len(part) for part in parts) >= 1
    assert abs(len(parts[1]) - fraction * len(whole)) <= 1
    for part, again in zip(parts, whole.split(fraction, seed), strict=True):
        same(part, again)


def test_split_depends_on_the_seed():
    whole = recording([[0.0, 1.0]] * 40)
    seconds = {tuple(whole.split(0.5, seed)[1].labels.tolist()) for seed in range(5)}
    assert len(seconds) == 5


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_split_refuses_fractions_out_of_range(fraction):
    with pytest.raises(GreymatchError, match="`fraction` must lie between 0 and 1"):
        recording([[0.0], [0.0]]).split(fraction)
    with pytest.raises(GreymatchError, match="at least 2 trajectories"):
        recording([[0.0]]).split(0.5)


@settings(max_examples=50)
@given(data=st.data(), points=st.integers(1, 9))
def test_first_keeps_so_many_points_of_each(data, recordings, points):
    whole = data.draw(recordings())
    assert whole.first(points).lengths.tolist() == [min(points, n) for n in whole.lengths.tolist()]


def test_the_step_is_the_median_over_what_is_there():
    assert recording([[0.0, 1.0, 3.0], [0.0, 2.0, INF]]).step == 2.0
    assert np.isnan(recording([[0.0], [5.0]]).step)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], r"increase; trajectory 'b' has 0 after 0 \(point 1\)"),
        ([[0.0, 1.0, 2.0], [0.0, 2.0, 1.5]], r"trajectory 'b' has 1\.5 after 2 \(point 2\)"),
        ([[0.0, 1.0], [0.0, float("nan")]], r"trajectory 'b' has nan after 0 \(point 1\)"),
        ([[0.0, 1.0, 2.0], [0.0, INF, 2.0]], r"trajectory 'b' has 2 after inf \(point 2\)"),
        ([[0.0, 1.0], [INF, INF]], r"needs at least one of `times`; 'b' has none"),
    ],
)
def test_bad_times_are_named(times, said):
    with pytest.raises(GreymatchError, match=said):
        recording(times, ["a", "b"])


def test_values_must_fit_and_be_finite():
    good = recording([[0.0, 1.0]])
    with pytest.raises(GreymatchError, match="`values` and `mask` must be"):
        dataclasses.replace(good, states=("x", "y"))
    with pytest.raises(GreymatchError, match="`values` must be finite"):
        dataclasses.replace(good, values=good.values / 0.0)
    with pytest.raises(GreymatchError, match="grid axes"):
        dataclasses.replace(good, grid=("x",))


def test_inputs_must_be_known_along_every_trajectory():
    good = recording([[0.0, 1.0], [0.0, 1.0]], ["a", "b"])
    mask = torch.tensor([[True, True], [False, False]])[..., None]
    with pytest.raises(GreymatchError, match="'u' has no value in trajectory 'b'"):
        dataclasses.replace(good, inputs=Signals(("u",), good.times, good.values, "linear", mask))
    with pytest.raises(GreymatchError, match="`input times` must increase; trajectory 'a'"):
        dataclasses.replace(good, inputs=Signals(("u",), -good.times, good.values, "linear"))


def test_repr_says_what_there_is():
    data = recording([[0.0, 0.5, 1.0, 1.5], [0.0, 0.5, INF, INF]])
    assert repr(data) == "Trajectories(2 x 2-4 points of x, t = 0 to 1.5, step 0.5)"
    mask = data.mask.clone()
    mask[0, :3] = False
    gappy = dataclasses.replace(data, mask=mask, values=data.values * mask)
    assert repr(gappy).endswith(", 50.0 % gaps)")
    assert repr(recording([[1.0]])) == "Trajectories(1 x 1 points of x, t = 1 to 1)"
