from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.path import Path

INF = torch.inf


def two_pieces() -> Path:
    """Row 0: t^2 on [0, 1], then 1 + 2s - s^3 with s = t - 1 on [1, 3]; row 1: 5 on [0, 4] and padding."""
    breaks = torch.tensor([[0.0, 1.0, 3.0], [0.0, 4.0, INF]], dtype=torch.float64)
    coefficients = torch.zeros(2, 2, 4, 1, dtype=torch.float64)
    coefficients[0, 0, :, 0] = torch.tensor([0.0, 0.0, 1.0, 0.0])
    coefficients[0, 1, :, 0] = torch.tensor([1.0, 2.0, 0.0, -1.0])
    coefficients[1, 0, 0, 0] = 5.0
    trusted = torch.tensor([[[True], [True]], [[True], [False]]])
    return Path(breaks, coefficients, trusted)


def ask(*times: float) -> Tensor:
    return torch.tensor([times], dtype=torch.float64)


FIRST = torch.tensor([0])
SECOND = torch.tensor([1])


def test_value_and_derivatives_are_those_of_each_piece():
    point = two_pieces().at(FIRST, ask(0.5, 1.0, 2.0, 3.0))
    assert point.position.flatten().tolist() == [0.25, 1.0, 2.0, -3.0]
    assert point.velocity.flatten().tolist() == [1.0, 2.0, -1.0, -10.0]
    assert point.acceleration is not None
    assert point.acceleration.flatten().tolist() == [2.0, 0.0, -6.0, -12.0]


def test_last_break_of_a_padded_row_belongs_to_its_last_interval():
    point = two_pieces().at(SECOND, ask(0.0, 4.0))
    assert point.position.flatten().tolist() == [5.0, 5.0]
    assert two_pieces().trust(SECOND, ask(0.0, 4.0)).all()


def test_rows_are_looked_up_in_any_order_and_repeatedly():
    rows = torch.tensor([1, 0, 0, 1])
    times = torch.tensor([[1.0], [0.5], [2.0], [3.0]], dtype=torch.float64)
    assert two_pieces().at(rows, times).position.flatten().tolist() == [5.0, 0.25, 2.0, 5.0]


def test_positions_alone_are_those_with_derivatives():
    times = torch.linspace(-1, 5, 20, dtype=torch.float64).expand(2, -1)
    path, rows = two_pieces(), torch.tensor([1, 0])
    assert torch.equal(path.position(rows, times), path.at(rows, times).position)


def test_rows_with_the_same_breaks_are_found_like_rows_with_their_own():
    path, rows = two_pieces(), torch.tensor([0, 1, 0])
    alike = Path(path.breaks[:1].expand(2, -1).contiguous(), path.coefficients, path.trusted)
    other = torch.cat([alike.breaks, ask(0.0, 0.5, 2.0)])
    mixed = Path(other, *(torch.cat([part, part[:1]]) for part in (path.coefficients, path.trusted)))
    times = torch.linspace(-1, 5, 20, dtype=torch.float64).expand(3, -1)
    assert torch.equal(alike.at(rows, times).position, mixed.at(rows, times).position)
    assert torch.equal(alike.at(rows, times).velocity, mixed.at(rows, times).velocity)
    assert torch.equal(alike.trust(rows, times), mixed.trust(rows, times))


def test_nothing_beyond_the_breaks_is_trusted():
    found = two_pieces().trust(FIRST, ask(-0.1, 0.0, 3.0, 3.1))
    assert found.flatten().tolist() == [False, True, True, False]
    assert two_pieces().trust(SECOND, ask(4.1)).flatten().tolist() == [False]


def test_states_and_grid_axes_are_kept():
    path = two_pieces()
    field = path.coefficients[:, :, :, :, None, None] * torch.arange(1.0, 7.0).reshape(1, 1, 1, 1, 2, 3)
    point = replace(path, coefficients=field).at(FIRST, ask(0.5, 2.0))
    assert point.position.shape == (1, 2, 1, 2, 3)
    assert point.position[0, :, 0, 1, 2].tolist() == [1.5, 12.0]


def test_a_straight_path_has_no_acceleration():
    path = two_pieces()
    line = replace(path, coefficients=path.coefficients[:, :, :2])
    assert line.degree == 1
    assert line.at(FIRST, ask(0.5)).acceleration is None
    assert not line.trust(FIRST, ask(0.5), order=2).any()


def test_second_order_trust_needs_a_fit_that_could_bend():
    straight = replace(two_pieces(), degrees=torch.tensor([[1], [3]], dtype=torch.int8))
    assert straight.trust(FIRST, ask(0.5)).all()
    assert not straight.trust(FIRST, ask(0.5), order=2).any()
    assert straight.trust(SECOND, ask(0.5), order=2).all()


def test_a_row_of_nothing_but_padding_gives_finite_untrusted_points():
    path = two_pieces()
    empty = replace(
        path,
        breaks=torch.full_like(path.breaks, INF),
        coefficients=torch.zeros_like(path.coefficients),
        trusted=torch.zeros_like(path.trusted),
    )
    point = empty.at(FIRST, ask(2.0))
    assert point.position.isfinite().all()
    assert point.velocity.isfinite().all()
    assert not empty.trust(FIRST, ask(2.0)).any()


def test_single_precision_keeps_small_steps_at_large_times():
    epoch = 1.7e9
    path = two_pieces()
    late = replace(path, breaks=path.breaks + epoch).to(dtype=torch.float32)
    point = late.at(FIRST, ask(0.5, 2.0) + epoch)
    assert late.breaks.dtype == torch.float64
    assert {point.position.dtype, point.velocity.dtype} == {torch.float32}
    assert point.time.dtype == torch.float64
    np.testing.assert_allclose(point.position.flatten(), [0.25, 2.0], rtol=1e-6)


def test_conversion_refuses_to_overflow():
    path = two_pieces()
    with pytest.raises(GreymatchError, match="unit in which steps are near 1"):
        replace(path, coefficients=path.coefficients * 1e45).to(dtype=torch.float32)


def test_times_that_are_not_contiguous_are_fine():
    times = torch.tensor([[0.5, 9.0, 2.0, 9.0]], dtype=torch.float64)[:, ::2]
    assert two_pieces().at(FIRST, times).position.flatten().tolist() == [0.25, 2.0]
