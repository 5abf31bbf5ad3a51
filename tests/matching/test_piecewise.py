"""What every interpolant owes to many trajectories, states and pixels with gaps and padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.interpolants import interpolant
from greymatch.matching.path import Matched, Path
from greymatch.matching.spline import Spline

NAMES = ["linear", "lagrange-3", "lagrange-5", "cubic", "quintic"]
INF = torch.inf


def ragged(seed: int, rows: int = 4, length: int = 14, states: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Uneven times of several lengths, two rows sharing theirs, with a third of the samples missing."""
    chance = torch.Generator().manual_seed(seed)
    times = (0.2 + torch.rand(rows, length, generator=chance, dtype=torch.float64)).cumsum(1)
    times[1] = times[0]
    for row in range(2, rows):
        times[row, length - row :] = INF
    values = torch.randn(rows, length, states, generator=chance, dtype=torch.float64)
    mask = (torch.rand(rows, length, states, generator=chance) > 0.3) & times.isfinite()[..., None]
    return times, torch.where(mask, values, 0.0), mask


def queries(times: Tensor, count: int = 25) -> Tensor:
    last = times.masked_fill(~times.isfinite(), -INF).amax(1, keepdim=True)
    return times[:, :1] + (last - times[:, :1]) * torch.linspace(0, 1, count, dtype=torch.float64)


def same(left: Matched, right: Matched, rtol: float = 1e-9) -> None:
    for name in ("time", "position", "velocity", "acceleration"):
        one, other = getattr(left, name), getattr(right, name)
        if one is None:
            assert other is None
        else:
            np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_a_state_with_gaps_is_the_curve_of_its_remaining_samples(name: str):
    times, values, mask = ragged(0)
    query = queries(times)
    whole = interpolant(name)(times, values, mask)
    for row, state in np.ndindex(4, 3):
        seen = mask[row, :, state]
        own, kept = times[row, seen][None], values[row, seen, state][None, :, None]
        alone = interpolant(name)(own, kept, torch.ones_like(kept, dtype=torch.bool))
        inside = query[row : row + 1]
        inside = inside[(inside >= own[0, 0]) & (inside <= own[0, -1])][None]
        found = whole.at(torch.tensor([row]), inside)
        expected = alone.at(torch.tensor([0]), inside)
        np.testing.assert_allclose(found.position[..., state], expected.position[..., 0], atol=1e-9)
        np.testing.assert_allclose(found.velocity[..., state], expected.velocity[..., 0], atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10_000), data=st.data())
@settings(max_examples=15, deadline=None)
def test_permuting_rows_and_states_permutes_the_path(name: str, seed: int, data: st.DataObject):
    rows = torch.tensor(data.draw(st.permutations(range(4))))
    states = torch.tensor(data.draw(st.permutations(range(3))))
    times, values, mask = ragged(seed)
    query = queries(times)
    path = interpolant(name)(times, values, mask)
    moved = interpolant(name)(times[rows], values[rows][:, :, states], mask[rows][:, :, states])
    before, after = path.at(rows, query[rows]), moved.at(torch.arange(4), query[rows])
    np.testing.assert_allclose(after.position, before.position[:, :, states], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.velocity, before.velocity[:, :, states], rtol=1e-9, atol=1e-9)
    expected = path.trust(rows, query[rows])[:, :, states]
    assert torch.equal(moved.trust(torch.arange(4), query[rows]), expected)


@pytest.mark.parametrize("name", NAMES)
def test_padding_does_not_leak(name: str):
    times, values, mask = ragged(1)
    query = queries(times)
    together = interpolant(name)(times, values, mask)
    for row in range(4):
        length = int(times[row].isfinite().sum())
        only = interpolant(name)(*(part[row : row + 1, :length] for part in (times, values, mask)))
        here = query[row : row + 1]
        same(together.at(torch.tensor([row]), here), only.at(torch.tensor([0]), here))
        assert torch.equal(together.trust(torch.tensor([row]), here), only.trust(torch.tensor([0]), here))


@pytest.mark.parametrize("name", NAMES)
def test_padding_intervals_are_zero(name: str):
    times, values, mask = ragged(1)
    path = interpolant(name)(times, values, mask)
    assert isinstance(path, Path)
    padding = ~times[:, 1:].isfinite()
    assert padding.any()
    assert not path.coefficients[padding].any()


@pytest.mark.parametrize("name", NAMES)
def test_values_where_nothing_was_observed_are_not_read(name: str):
    times, values, mask = ragged(2)
    rows, query = torch.arange(4), queries(times)
    rubbish = torch.where(mask, values, torch.nan)
    expected = interpolant(name)(times, values, mask).at(rows, query)
    same(interpolant(name)(times, rubbish, mask).at(rows, query), expected)


@pytest.mark.parametrize("name", NAMES)
def test_every_pixel_is_a_channel_of_its_own(name: str):
    times, values, mask = ragged(3, states=6)
    rows, query = torch.arange(4), queries(times)
    flat = interpolant(name)(times, values, mask).at(rows, query)
    field = interpolant(name)(times, values.reshape(4, 14, 1, 2, 3), mask.reshape(4, 14, 1, 2, 3))
    assert field.at(rows, query).position.shape == (4, 25, 1, 2, 3)
    np.testing.assert_allclose(field.at(rows, query).position.flatten(2), flat.position, atol=1e-12)
    np.testing.assert_allclose(field.at(rows, query).velocity.flatten(2), flat.velocity, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_field_is_trusted_where_all_its_pixels_are(name: str):
    times, values, mask = ragged(4, states=6)
    rows, query = torch.arange(4), queries(times)
    flat = interpolant(name)(times, values, mask).trust(rows, query, order=2)
    field = interpolant(name)(times, values.reshape(4, 14, 2, 3), mask.reshape(4, 14, 2, 3))
    assert torch.equal(field.trust(rows, query, order=2), flat.reshape(4, 25, 2, 3).all(-1))


def test_a_field_bends_where_all_its_pixels_do():
    times = torch.arange(9, dtype=torch.float64)[None]
    mask = torch.ones(1, 9, 1, 2, dtype=torch.bool)
    mask[..., 1] = (times % 4 == 0)[..., None]
    path = Spline(3, max_gap=INF)(times, torch.zeros(1, 9, 1, 2), mask)
    assert path.trust(torch.tensor([0]), times).all()
    assert not path.trust(torch.tensor([0]), times, order=2).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_state_is_held_beyond_its_observations_and_zero_without_any(name: str):
    times = torch.arange(10, dtype=torch.float64)[None]
    values = times[..., None].square().repeat(1, 1, 3)
    mask = torch.ones_like(values, dtype=torch.bool)
    mask[0, :3, 0] = mask[0, 7:, 0] = mask[0, :, 1] = False
    mask[0, :, 2] = times[0] == 5
    path = interpolant(name)(times, values * mask, mask)
    query = torch.tensor([[0.5, 2.5, 6.5, 9.0]], dtype=torch.float64)
    found = path.at(torch.tensor([0]), query).position[0]
    assert found[:, 0].tolist() == [9.0, 9.0, 36.0, 36.0]
    assert found[:, 1].tolist() == [0.0] * 4
    assert found[:, 2].tolist() == [25.0] * 4
    assert not path.trust(torch.tensor([0]), query).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_late_clock_changes_nothing(name: str):
    times = torch.arange(12, dtype=torch.float64)[None] / 8
    values = torch.sin(times)[..., None]
    mask = torch.ones_like(values, dtype=torch.bool)
    query = queries(times)
    early = interpolant(name)(times, values, mask).at(torch.tensor([0]), query)
    late = interpolant(name)(times + 2.0**31, values, mask).at(torch.tensor([0]), query + 2.0**31)
    np.testing.assert_allclose(late.velocity, early.velocity, atol=1e-5)
    np.testing.assert_allclose(late.position, early.position, atol=1e-6)


def test_the_unit_of_time_changes_only_the_unit_of_the_answer():
    times, values, mask = ragged(5)
    rows, query = torch.arange(4), queries(times)
    plain = interpolant("quintic")(times, values, mask).at(rows, query)
    for unit in (1e-9, 1e9):
        other = interpolant("quintic")(times * unit, values, mask).at(rows, query * unit)
        np.testing.assert_allclose(other.velocity * unit, plain.velocity, rtol=1e-4, atol=1e-4)


def test_one_time_is_not_enough():
    with pytest.raises(GreymatchError, match="at least two times"):
        interpolant("cubic")(torch.zeros(1, 1), torch.zeros(1, 1, 1), torch.ones(1, 1, 1, dtype=torch.bool))
