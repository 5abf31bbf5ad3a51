"""Lazily read stores give what reading them whole gives, in parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from greymatch.data.read import read
from greymatch.data.store import Store
from greymatch.errors import GreymatchError


def waves(trajectories: int = 12, points: int = 40) -> xr.Dataset:
    times = 0.1 * np.arange(points)
    values = np.sin(times) * np.arange(1, trajectories + 1)[:, None]
    drive = np.cos(times) + np.zeros((trajectories, 1))
    axes = ("trajectory", "time")
    known = {"k": ("trajectory", np.arange(trajectories) / 2)}
    return xr.Dataset({"x": (axes, values, {"units": "m"}), "u": (axes, drive)} | known, {"time": times})


def stored(folder: Path, dataset: xr.Dataset, suffix: str, chunk: tuple[int, ...]) -> Path:
    path = folder / f"waves{suffix}"
    if suffix == ".zarr":
        dataset.to_zarr(path, zarr_format=2, encoding={"x": {"chunks": chunk}})
    else:
        dataset.to_netcdf(path, engine="h5netcdf", encoding={"x": {"chunksizes": chunk}})
    return path


def lazily(path: Path | xr.Dataset, **asked) -> Store:
    store = read(path, lazy=True, **asked)
    assert isinstance(store, Store)
    return store


@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_all_parts_together_are_the_store(tmp_path: Path, suffix: str):
    path = stored(tmp_path, waves(), suffix, (4, 40))
    store, whole = lazily(path, states=["x"], inputs=["u"]), read(path, states=["x"], inputs=["u"])
    assert (len(store), store.extent.chunk) == (12, (4, 40))
    found = store.part(store.blocks(4))
    assert torch.equal(found.values, whole.values)
    assert torch.equal(found.times, whole.times)
    assert found.labels.tolist() == whole.labels.tolist()
    assert found.truth["k"].tolist() == whole.truth["k"].tolist()
    assert found.units == {"x": "m"}
    assert found.inputs is not None


def test_nothing_but_the_part_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = lazily(stored(tmp_path, waves(), ".zarr", (2, 40)), states=["x"])
    blocks = store.blocks(2)[1:3]
    read_in: list[tuple[int, ...]] = []
    load = xr.Dataset.load

    def noted(self: xr.Dataset, **asked):
        assert "u" not in self
        read_in.append(tuple(self.sizes.values()))
        return load(self, **asked)

    monkeypatch.setattr(xr.Dataset, "load", noted)
    store.part(blocks)
    assert read_in == [(2, 40), (2, 40)]


def test_fields_are_read_too():
    axes = ("trajectory", "time", "y", "x")
    values = np.random.default_rng(0).normal(size=(4, 6, 3, 5))
    values[1, 2] = np.nan
    found = lazily(xr.Dataset({"u": (axes, values)}, {"time": np.arange(6.0)}).chunk(trajectory=1)).sample()
    assert (found.grid, found.labels.tolist()) == (("y", "x"), [0, 1, 2, 3])
    np.testing.assert_array_equal(found.values[2, :, 0], values[2])
    assert not bool(found.mask[1, 2].any())


def test_a_long_recording_comes_in_pieces_on_its_own_clock(tmp_path: Path):
    dataset = waves(1, 3000).isel(trajectory=0).drop_vars("k")
    store = lazily(stored(tmp_path, dataset, ".zarr", (500,)), states=["x"])
    found = store.sample()
    assert found.times.shape == (3, 1000)
    np.testing.assert_allclose(found.times.flatten(), dataset["time"])
    np.testing.assert_allclose(found.values.flatten(), dataset["x"])


def test_dates_count_from_the_start_of_the_recording():
    dates = np.datetime64("2024-05-31T12:00") + np.arange(2048) * np.timedelta64(30, "s")
    log = xr.Dataset({"x": ("time", np.arange(2048.0))}, {"time": dates})
    found = lazily(log, units={"time": "min"}).sample()
    np.testing.assert_allclose(found.times[:, 0], [0, 512])
    assert found.epoch is not None
    assert (found.epoch == dates[0]).all()


def test_what_ends_early_has_no_later_pieces():
    dataset = waves(2, 2048)
    clock = np.tile(dataset["time"].values, (2, 1))
    clock[1, 700:] = np.nan
    ragged = dataset.drop_vars("time").assign_coords(clock=(("trajectory", "time"), clock))
    found = lazily(ragged, states=["x"], time="clock").sample()
    assert found.labels.tolist() == [0, 1, 0]
    assert found.lengths.tolist() == [1024, 700, 1024]


def test_whole_recordings_can_be_taken(tmp_path: Path):
    path = stored(tmp_path, waves(), ".zarr", (4, 40))
    found = lazily(path, states=["x"]).select([5, -1])
    assert torch.equal(found.values, read(path, states=["x"]).select([5, -1]).values)


def test_it_says_what_it_is(tmp_path: Path):
    said = repr(lazily(stored(tmp_path, waves(), ".zarr", (4, 40)), states=["x"]))
    assert said == "Store(12 x 40 points of x, read in parts; chunks of 4 x 40)"


def test_columns_are_renamed(tmp_path: Path):
    store = lazily(stored(tmp_path, waves(), ".zarr", (4, 40)), states={"angle": "x"})
    assert store.sample().states == ("angle",)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"time": "tine"}, "has no 'tine' coordinate"),
        ({"states": ["y"]}, "asks for 'y'"),
    ],
)
def test_wrong_names_are_refused(asked: dict[str, object], words: str):
    with pytest.raises(GreymatchError, match=words):
        lazily(waves(), **asked).sample()


def test_tables_are_not_lazy(tmp_path: Path):
    with pytest.raises(GreymatchError, match="`lazy` is for stores of arrays"):
        read(tmp_path / "a.csv", lazy=True)


def test_positions_must_exist():
    with pytest.raises(GreymatchError, match="positions among the 12 trajectories"):
        lazily(waves(), states=["x"]).select([12])


def test_inputs_on_other_times_cannot_be_cut():
    own = xr.Dataset({"v": (("trajectory", "tick"), np.ones((2, 7)))}, {"tick": np.arange(7.0)})
    long = xr.merge([waves(2, 2048).drop_vars("u"), own])
    with pytest.raises(GreymatchError, match="must be sampled at the times of the states"):
        lazily(long, states=["x"], inputs=["v"]).sample()
