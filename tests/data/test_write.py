from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from greymatch.data.read import read
from greymatch.data.trajectories import Trajectories
from greymatch.data.write import write
from greymatch.errors import GreymatchError


def small(**changes: object) -> Trajectories:
    table = pd.DataFrame({"trajectory": [7, 7, 3], "time": [0.0, 1.0, 0.5], "x": [1.0, 2.0, 3.0]})
    return dataclasses.replace(read(table), **changes)


def round_trip(data: Trajectories, name: str, **options: Any) -> Trajectories:
    with tempfile.TemporaryDirectory() as folder:
        found = read(write(data, Path(folder) / name), **options)
    assert isinstance(found, Trajectories)
    return found


@pytest.mark.parametrize("name", ["a.nc", "a.h5", "a.zarr", "a.npz"])
@settings(max_examples=12)
@given(data=st.data())
def test_labelled_files_give_back_what_was_written(name, data, recordings, same):
    whole = data.draw(recordings(fields=None))
    same(round_trip(whole, name), whole)


@settings(max_examples=30)
@given(data=st.data())
def test_parquet_gives_back_what_was_written(data, recordings, same):
    whole = data.draw(recordings())
    same(round_trip(whole, "a.parquet"), whole)


@settings(max_examples=30)
@given(data=st.data())
def test_csv_gives_back_all_numbers_and_units(data, recordings, same):
    whole = dataclasses.replace(data.draw(recordings()), truth={}, epoch=None)
    options = {"inputs": ["push", "pull"], "input_kind": "hold"} if whole.inputs else {}
    same(round_trip(whole, "a.csv", **options), whole)


@pytest.mark.parametrize("name", ["a.nc", "a.zarr", "a.npz", "a.parquet", "a.csv"])
@settings(max_examples=10)
@given(data=st.data())
def test_inputs_beyond_the_history_are_kept(name, data, recordings, same):
    whole = dataclasses.replace(data.draw(recordings(driven=True, least=2)), truth={}, epoch=None)
    history = whole.until(float(whole.times[:, 0].max()))
    options = {"inputs": ["push", "pull"], "input_kind": "hold"} if name.endswith("csv") else {}
    same(round_trip(history, name, **options), _without_unseen_ends(history, name))


def _without_unseen_ends(data: Trajectories, name: str) -> Trajectories:
    """A table cannot tell a last point without any state from one that is there for the inputs."""
    if name in ("a.nc", "a.zarr", "a.npz"):
        return data
    seen = data.mask.flatten(2).any(2)
    kept = seen.flip(1).cummax(1).values.flip(1)
    return data._points(data.times.shape[1], kept)


def test_tables_are_long_and_plain(tmp_path):
    write(small(), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "trajectory,time,x\n7,0.0,1.0\n7,1.0,2.0\n3,0.5,3.0\n"


def test_csv_says_that_it_leaves_out_the_truth(tmp_path, same):
    data = small(truth={"mass": np.array([1.0, 2.0])})
    with pytest.warns(UserWarning, match=r"\.csv holds no truth: \['mass'\] left out"):
        write(data, tmp_path / "a.csv")
    same(read(tmp_path / "a.csv"), small())


def test_columns_may_be_dropped_from_what_was_written(tmp_path):
    data = small(truth={"mass": np.array([1.0, 2.0]), "size": np.array([3.0, 4.0])})
    table = pd.read_parquet(write(data, tmp_path / "a.parquet")).drop(columns="mass")
    assert {name: value.tolist() for name, value in read(table).truth.items()} == {"size": [3.0, 4.0]}


def test_anything_with_a_dataset_can_be_written(tmp_path):
    class Draws:
        def to_dataset(self) -> xr.Dataset:
            x = np.arange(12.0).reshape(2, 2, 3)
            times = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, np.nan]])
            return xr.Dataset(
                {"x": (("draw", "trajectory", "time"), x)},
                {"trajectory": ["a", "b"], "time": (("trajectory", "time"), times)},
            )

    table = pd.read_csv(write(Draws(), tmp_path / "a.csv"))
    assert list(table.columns) == ["draw", "trajectory", "time", "x"]
    assert table[table["trajectory"] == "b"]["x"].tolist() == [3.0, 4.0, 9.0, 10.0]
    assert table["time"].tolist() == [0.0, 1.0, 2.0, 0.0, 3.0] * 2


@pytest.mark.parametrize("name", ["a.nc", "a.zarr", "a.npz", "a.csv", "a.parquet"])
def test_writing_again_replaces_and_leaves_nothing_behind(name, tmp_path, same):
    write(small(), tmp_path / name)
    newer = small(labels=np.array([1, 2]))
    write(newer, str(tmp_path / name))
    same(read(tmp_path / name), newer)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.nc", "a.zarr", "a.csv", "a.parquet"])
def test_a_failed_write_leaves_the_old_file_whole(name, tmp_path, same, monkeypatch):
    def fail(_: object, path: Path, **__: object) -> None:
        path.write_bytes(b"half of it")
        raise OSError("disk full")

    write(small(), tmp_path / name)
    for method in ("to_csv", "to_parquet"):
        monkeypatch.setattr(pd.DataFrame, method, fail)
    for method in ("to_netcdf", "to_zarr"):
        monkeypatch.setattr(xr.Dataset, method, fail)
    with pytest.raises(GreymatchError, match=r"cannot write .*disk full. The old file, if any, stands"):
        write(small(labels=np.array([1, 2])), tmp_path / name)
    same(read(tmp_path / name), small())
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_what_cannot_be_written_is_refused(tmp_path, recordings):
    with pytest.raises(GreymatchError, match=r"must end in \.nc, .* Did you mean '\.parquet'"):
        write(small(), tmp_path / "a.parqet")
    with pytest.raises(GreymatchError, match="`data` must be Trajectories or a Forecast; got int"):
        write(3, tmp_path / "a.nc")  # pyright: ignore[reportArgumentType] - that is the point
    with pytest.raises(GreymatchError, match="folder that exists"):
        write(small(), tmp_path / "nowhere" / "a.nc")
    (tmp_path / "full.zarr").mkdir()
    (tmp_path / "full.zarr" / "letters.txt").write_text("mine")
    with pytest.raises(GreymatchError, match="something else than zarr"):
        write(small(), tmp_path / "full.zarr")
    assert (tmp_path / "full.zarr" / "letters.txt").read_text() == "mine"
    with pytest.raises(GreymatchError, match="5 stands twice"):
        write(small(labels=np.array([5, 5])), tmp_path / "a.parquet")
    field = small(values=torch.zeros(2, 2, 1, 3), mask=torch.ones(2, 2, 1, 3, dtype=torch.bool), grid=("y",))
    with pytest.raises(GreymatchError, match=r"cannot hold fields on a grid \['y'\]"):
        write(field, tmp_path / "a.csv")
