"""Whatever a file holds, reading it gives recordings or our own error."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st

from greymatch.data.read import read
from greymatch.data.trajectories import Trajectories
from greymatch.data.write import write
from greymatch.errors import GreymatchError

EDITS = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=8)
NAMES = st.sampled_from(["time", "trajectory", "x", "x [m]", "date", "start", ""])
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.binary(max_size=3),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one sound file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    times = np.repeat(np.arange(6.0)[None], 2, 0).flatten()
    table = pd.DataFrame({"trajectory": np.repeat(["a", "b"], 6), "time": times, "x": times**2, "u": 1.0})
    data = read(table, states=["x"], inputs=["u"], units={"x": "m"})
    for kind in ("csv", "parquet", "nc", "npz", "zarr"):
        write(data, folder / f"a.{kind}")
    return folder


def survives(source: Any, **options: Any) -> None:
    with suppress(GreymatchError):
        assert isinstance(read(source, **options), Trajectories)


def spoiled(content: bytes, kept: float, edits: list[tuple[float, int]]) -> bytes:
    """The beginning of the content with some bytes changed."""
    out = bytearray(content[: round(kept * len(content))])
    for where, byte in edits:
        if out:
            out[int(where * len(out))] = byte
    return bytes(out)


# h5netcdf, when it cannot open a file, stumbles once more as its half-made object is thrown away
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["csv", "parquet", "nc", "npz"])
@settings(max_examples=60)
@given(kept=st.one_of(st.just(1.0), st.floats(0, 1)), edits=EDITS)
@example(kept=1.0, edits=[(0.0075, 128)])  # of a table, text that is none
def test_spoiled_files_do_no_harm(kind, kept, edits, whole):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{kind}"
        path.write_bytes(spoiled((whole / path.name).read_bytes(), kept, edits))
        survives(path)


@settings(max_examples=40)
@given(which=st.integers(0, 1000), kept=st.floats(0, 1), edits=EDITS)
def test_spoiled_stores_do_no_harm(which, kept, edits, whole):
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copytree(whole / "a.zarr", Path(folder) / "a.zarr")
        files = sorted(file for file in path.rglob("*") if file.is_file())
        file = files[which % len(files)]
        file.write_bytes(spoiled(file.read_bytes(), kept, edits))
        survives(path)


@settings(max_examples=60)
@given(st.text(alphabet="0123456789.,;-\n\t\"'einfaxtm[] \x00é", max_size=60))
def test_any_text_does_no_harm(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(f"time,x\n0,1\n{text}", encoding="utf-8")
        survives(path)
        path.write_text(text, encoding="utf-8")
        survives(path)


@settings(max_examples=150)
@given(data=st.data(), names=st.lists(NAMES, min_size=1, max_size=4), rows=st.integers(0, 4))
def test_any_table_does_no_harm(data, names, rows):
    cells = data.draw(st.lists(st.lists(CELLS, min_size=rows, max_size=rows), min_size=len(names), max_size=len(names)))
    table = pd.concat([pd.Series(column, dtype=object) for column in cells], axis=1, keys=names)
    survives(table)
    survives(table.infer_objects(), units={"time": "s"}, states=["x"])


@settings(max_examples=100)
@given(data=st.data(), names=st.lists(NAMES.filter(bool), min_size=1, max_size=4, unique=True))
def test_any_dataset_does_no_harm(data, names):
    kinds = st.sampled_from(["f8", "f4", "i8", "M8[s]", "m8[ns]", "U2", "?", "c16", "O"])
    sizes = {"trajectory": 2, "time": 3, "y": 2}
    arrays = {}
    for name in names:
        dims = data.draw(st.lists(st.sampled_from(sorted(sizes)), max_size=3, unique=True))
        values = np.arange(float(np.prod([sizes[dim] for dim in dims]))).reshape([sizes[dim] for dim in dims])
        arrays[name] = (dims, values.astype("i8").astype(data.draw(kinds)))
    with suppress(ValueError):  # xarray's own, of a Dataset that cannot be
        dataset = xr.Dataset(arrays)
        survives(dataset)
        survives(dataset.set_coords([name for name in ("time", "trajectory") if name in arrays]), units={"time": "h"})
