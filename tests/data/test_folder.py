from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from greymatch.data.read import read
from greymatch.data.write import write
from greymatch.errors import GreymatchError


def recorded(folder: Path, name: str, points: int, **columns: object) -> None:
    times = np.arange(points) * 0.1
    pd.DataFrame({"time": times, "x": times**2, "u": 1.0} | columns).to_csv(folder / name, index=False)


def test_each_file_is_a_trajectory_labelled_by_its_name(tmp_path):
    recorded(tmp_path, "b.csv", 3)
    recorded(tmp_path, "a 1.csv", 5)
    (tmp_path / ".hidden.csv").write_text("rubbish")
    (tmp_path / "notes.txt").write_text("taken in May")
    data = read(tmp_path, states=["x"], inputs=["u"])
    assert (data.labels.tolist(), data.lengths.tolist()) == (["a 1", "b"], [5, 3])
    assert data.values[1, :3, 0].tolist() == pytest.approx([0.0, 0.01, 0.04])
    assert data.inputs is not None
    assert data.inputs.seen.sum((1, 2)).tolist() == [5, 3]


def test_a_pattern_chooses_files(tmp_path):
    for name in ("a1.csv", "a2.csv", "b1.csv"):
        recorded(tmp_path, name, 3)
    assert read(tmp_path / "a*.csv").labels.tolist() == ["a1", "a2"]


@pytest.mark.parametrize("suffix", ["nc", "zarr", "npz", "parquet", "csv"])
def test_a_folder_of_parts_is_the_whole(suffix, tmp_path, same):
    recorded(tmp_path, "a.csv", 4, x=[1.0, None, 2.0, 3.0])
    recorded(tmp_path, "b.csv", 2)
    whole = read(tmp_path, units={"x": "m"})
    (tmp_path / "parts").mkdir()
    for row, label in enumerate(whole.labels):
        write(whole.select([row]), tmp_path / "parts" / f"{label}.{suffix}")
    same(read(tmp_path / "parts"), whole)


def test_a_channel_may_be_missing_from_some_recordings(tmp_path):
    recorded(tmp_path, "a.csv", 3, y=[None] * 3)
    recorded(tmp_path, "b.csv", 3, y=[1.0, 2.0, 3.0])
    data = read(tmp_path, states=["x", "y"])
    assert data.mask[..., 1].any(1).tolist() == [False, True]


def test_folders_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(GreymatchError, match=r"must hold data files, ending in .*; it holds nothing"):
        read(tmp_path)
    with pytest.raises(GreymatchError, match=r"must hold data files"):
        read(tmp_path / "*.csv")
    recorded(tmp_path, "a.csv", 3)
    recorded(tmp_path, "b.csv", 3, extra=2.0)
    with pytest.raises(GreymatchError, match=r"the same states; 'a.csv' has \['x', 'u'\], 'b.csv' has .*'extra'"):
        read(tmp_path)
    recorded(tmp_path, "b.csv", 3, time=[0.0, 2.0, 1.0])
    with pytest.raises(GreymatchError, match=r"in 'b\.csv': .*times must increase"):
        read(tmp_path)
    recorded(tmp_path, "b.csv", 3, trajectory=[1, 1, 2])
    with pytest.raises(GreymatchError, match=r"'b\.csv' holds 2 trajectories"):
        read(tmp_path)
    (tmp_path / "b.nc").write_bytes(b"")
    with pytest.raises(GreymatchError, match=r"files of one kind; it holds \.csv, \.nc.*\*\.csv"):
        read(tmp_path)
