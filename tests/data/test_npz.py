from __future__ import annotations

import numpy as np
import pytest

from greymatch.data.read import read
from greymatch.errors import GreymatchError

TIME = np.array([0.0, 0.5, 1.0])


def test_an_archive_made_by_hand_is_read_by_its_shapes(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        time=TIME,
        angle=[[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]],
        mass=[7.0, 8.0],
        trajectory=["l", "r"],
    )
    data = read(tmp_path / "a.npz")
    assert (data.states, data.labels.tolist(), data.truth["mass"].tolist()) == (("angle",), ["l", "r"], [7.0, 8.0])
    assert data.mask[..., 0].tolist() == [[True, True, True], [True, False, True]]


def test_one_recording_and_times_of_each(tmp_path):
    np.savez(tmp_path / "one.npz", time=TIME, x=[1.0, 2.0, 3.0], u=[0.0, 0.0, 1.0])
    one = read(tmp_path / "one.npz", inputs=["u"])
    assert (len(one), one.states, one.values.flatten().tolist()) == (1, ("x",), [1.0, 2.0, 3.0])
    np.savez(tmp_path / "own.npz", time=[[0.0, 1.0, 2.0], [5.0, 6.0, np.nan]], x=np.ones((2, 3)))
    assert read(tmp_path / "own.npz").lengths.tolist() == [3, 2]


def test_fields_have_the_axes_y_and_x(tmp_path):
    np.savez(tmp_path / "a.npz", time=TIME, u=np.ones((2, 3, 4, 5)), x=np.arange(5) * 0.1)
    data = read(tmp_path / "a.npz")
    assert (data.states, data.grid, tuple(data.values.shape)) == (("u",), ("y", "x"), (2, 3, 1, 4, 5))
    assert data.grid_coords["x"].tolist() == (np.arange(5) * 0.1).tolist()


def test_dates_and_texts_need_no_pickle(tmp_path):
    dates = np.array(["2024-01-01T00", "2024-01-01T01", "2024-01-01T03"], dtype="M8[h]")
    np.savez(tmp_path / "a.npz", time=dates, x=[1.0, 2.0, 3.0])
    assert read(tmp_path / "a.npz", units={"time": "h"}).times.tolist() == [[0.0, 1.0, 3.0]]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"t": TIME, "x": TIME}, r"must hold `time`.*it holds .*'t': \(3,\).*Rename"),
        ({"time": TIME, "x": np.ones((2, 4))}, r"with the 3 points of `time`; 'x' has shape \(2, 4\)"),
        ({"time": TIME, "x": np.ones((3, 4))}, "A single recording of a field has 1 as its first size"),
        ({"time": TIME, "x": np.array([{}, 1, 2], dtype=object)}, "'x' holds Python objects, which are never loaded"),
        ({"time": TIME, "x": TIME, "greymatch": np.array('{"x": 1}')}, r"must tell the axes of .*\['time', 'x'\]"),
        ({"time": TIME, "x": TIME, "greymatch": np.array("not json")}, "could not be read as .npz"),
        ({"time": np.ones((2, 2, 2)), "x": TIME}, "must hold `time`"),
    ],
)
def test_archives_that_do_not_fit_are_refused(arrays, said, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(GreymatchError, match=said):
        read(tmp_path / "a.npz")
