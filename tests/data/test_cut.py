from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.training.stock import parts


def recordings(grid: tuple[int, ...] = ()) -> Trajectories:
    """Two recordings of 23 and of 7 points."""
    times = 0.1 * torch.arange(23, dtype=torch.float64).repeat(2, 1)
    times[1, 7:] = torch.inf
    values = torch.randn(2, 23, 1, *grid, generator=torch.Generator().manual_seed(0))
    mask = times.isfinite().reshape(2, 23, 1, *(1,) * len(grid)).expand(values.shape).clone()
    mask[0, 3] = False
    axes = ("y", "x")[2 - len(grid) :]
    truth, epoch = {"k": np.array([1.0, 2.0])}, np.array(["2024-05-01", "2024-06-01"], dtype="M8[ns]")
    labels = np.array(["a", "b"])
    return Trajectories(("x",), times, values * mask, mask, labels, grid=axes, truth=truth, epoch=epoch)


@pytest.mark.parametrize("grid", [(), (3,), (3, 2)])
def test_pieces_in_a_row_are_the_recording(grid: tuple[int, ...]):
    whole = recordings(grid)
    pieces = whole.cut(10)
    assert pieces.labels.tolist() == ["a/1", "a/2", "b/1"]
    assert pieces.lengths.tolist() == [10, 13, 7], "the last holds what is left over"
    assert pieces.truth["k"].tolist() == [1.0, 1.0, 2.0]
    assert pieces.epoch is not None
    assert pieces.epoch[1] == np.datetime64("2024-05-01")
    assert pieces.grid == whole.grid
    for name in ("times", "values", "mask"):
        mine, theirs = getattr(pieces, name), getattr(whole, name)
        assert torch.equal(torch.cat([mine[0, :10], mine[1, :13]]), theirs[0]), name
        assert torch.equal(mine[2, :7], theirs[1, :7]), name
    assert not bool(pieces.mask[0, 10:].any())


@pytest.mark.parametrize("kind", ["hold", "linear", "cubic", "quintic"])
def test_inputs_are_the_same_along_each_piece(kind: str):
    whole = recordings()
    clock = 0.04 * torch.arange(-5, 300, dtype=torch.float64).repeat(2, 1)
    clock[1, 80:] = torch.inf
    values = torch.stack([(3 * clock).sin(), (2 * clock).cos()], -1).nan_to_num()
    seen = clock.isfinite()[..., None].repeat(1, 1, 2)
    seen[:, 1::3, 1] = False  # one of two rates
    driven = replace(whole, inputs=Signals(("u", "v"), clock, values * seen, kind, seen))
    pieces = driven.cut(10)
    assert driven.inputs is not None
    assert pieces.inputs is not None
    assert pieces.inputs.times.shape[1] < 80, "not all samples beside each piece"
    asked = pieces.times[:2, :10] + 0.013
    mine = pieces.inputs.at(torch.tensor([0, 1]), asked)
    theirs = driven.inputs.at(torch.tensor([0, 0]), asked)
    assert float((mine - theirs).abs().max()) < 1e-4
    pieces.inputs.check_covers(torch.arange(3), pieces.times, pieces.labels)


def test_one_recording_is_enough_if_it_is_cut():
    one = recordings().select([0])
    with pytest.raises(GreymatchError, match=r"data\.cut\(points\)"):
        parts(one, None, 0)
    learned, held = parts(one.cut(5), None, 0)
    assert sorted([*learned.labels, *held.labels]) == ["a/1", "a/2", "a/3", "a/4"]


@pytest.mark.parametrize("points", [1, 0, -3, 2.5, "ten"])
def test_what_is_no_number_of_points_is_refused(points):
    with pytest.raises(GreymatchError, match="`points` must be a whole number of at least 2"):
        recordings().cut(points)
