"""The catalogue of files that cannot be read: each is refused with the argument, the rule, the value and a fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from greymatch.data.read import read
from greymatch.data.trajectories import Trajectories
from greymatch.data.write import write
from greymatch.errors import GreymatchError

ONE_SCREEN = 900  # characters
ROWS = 200_000
LABELLED = ("nc", "zarr", "npz")
Case = tuple[Callable[[Path], object], str]


def good() -> Trajectories:
    return read(pd.DataFrame({"time": np.arange(50.0), "x": np.arange(50.0) ** 2, "y": 1.0}))


def empty(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(b"")
        return folder / name

    return make


def truncated(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = write(good(), folder / name)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        return path

    return make


def disguised(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text("time,x\n0,1\n")
        return folder / name

    return make


def text(content: str, encoding: str = "utf-8", **options: object) -> Callable[[Path], object]:
    def make(folder: Path) -> object:
        (folder / "a.csv").write_text(content, encoding=encoding)
        return folder / "a.csv", options

    return make


def table(**columns: object) -> Callable[[Path], pd.DataFrame]:
    return lambda folder: pd.DataFrame({"time": [0.0, 1.0], "x": [1.0, 2.0]} | columns)


def huge(last: str) -> Callable[[Path], object]:
    """A long table whose last row but one is wrong."""
    rows = [f"{i},{i / 7:.4f}" for i in range(ROWS)]
    rows[-2] = last
    return text("time,x\n" + "\n".join(rows) + "\n")


def damaged_zarr(part: str, content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = write(good(), folder / "a.zarr")
        for file in path.rglob(part):
            file.write_bytes(content)
        return path

    return make


def pickled(folder: Path) -> Path:
    np.savez(folder / "a.npz", time=np.arange(2.0), x=np.array([print, print], dtype=object))
    return folder / "a.npz"


def a_folder_for_a_file(folder: Path) -> Path:
    (folder / "a.csv").mkdir()
    return folder / "a.csv"


def mixed(folder: Path) -> Path:
    write(good(), folder / "a.nc")
    write(good(), folder / "b.csv")
    return folder


def one_bad_of_many(folder: Path) -> Path:
    for name in ("a.csv", "b.csv", "c.csv"):
        write(good(), folder / name)
    (folder / "b.csv").write_text("time,x,y\n0,1,1\n0,2,1\n")
    return folder


def with_options(make: Callable[[Path], object], **options: object) -> Callable[[Path], object]:
    return lambda folder: (make(folder), options)


def unreadable(what: str, make: Callable[[str], Callable[[Path], Path]], *kinds: str) -> dict[str, Case]:
    said = r"could not be read as \.{}: .*of another kind than its name says; write it again"
    return {f"{what} {kind}": (make(f"a.{kind}"), said.format(kind)) for kind in kinds}


DATES = {"time": pd.to_datetime(["2024-01-01", "2024-01-02"])}

CATALOGUE: dict[str, Case] = {
    "no file": (lambda folder: folder / "swing.csv", r"no file '.*swing\.csv'\. Check the path"),
    "no folder": (lambda folder: folder / "nowhere" / "a.csv", r"no file .*Check the path"),
    "unknown kind": (lambda folder: folder / "a.xlsx", r"must end in \.nc, .*; got 'a\.xlsx'"),
    "misspelt kind": (lambda folder: folder / "a.parqet", r"Did you mean '\.parquet'"),
    "not a source": (lambda folder: {"time": [0.0]}, "`source` must be a path, DataFrame or Dataset; got dict"),
    "folder for a file": (a_folder_for_a_file, r"could not be read as \.csv: .*directory"),
    "empty folder": (lambda folder: folder, "must hold data files, ending in .*; it holds nothing"),
    "pattern without files": (lambda folder: folder / "*.nc", "must hold data files"),
    "mixed folder": (mixed, r"must be files of one kind; it holds \.csv, \.nc\. Choose one by a pattern"),
    "bad file of many": (one_bad_of_many, r"in 'b\.csv': .*0 follows 0"),
    **unreadable("empty", empty, "csv", "nc", "npz", "parquet"),
    **unreadable("truncated", truncated, "nc", "npz", "parquet"),
    **unreadable("text named", disguised, "nc", "npz", "parquet", "zarr"),
    "zarr without metadata": (damaged_zarr(".z*", b""), r"could not be read as \.zarr"),
    "zarr with broken values": (damaged_zarr("0.0", b"\x00\x01"), r"could not be read as \.zarr"),
    "pickled npz": (pickled, "'x' holds Python objects, which are never loaded"),
    "latin-1": (text("time,x [°C]\n0,1\n", "latin-1"), "must be text in UTF-8; .*Save it as UTF-8"),
    "utf-16": (text("time,x\n0,1\n", "utf-16"), "must be text in UTF-8"),
    "header alone": (text("time,x\n"), r"must have rows; got 0 rows of \['time', 'x'\]"),
    "column twice": (text("time,x,x\n0,1,2\n"), "every column needs its own name; 'x' stands twice"),
    "huge, word near its end": (huge("199998,broken"), r"'x' must hold numbers; row 199998 \(from 0\) has 'broken'"),
    "huge, fields near its end": (huge("199998,1.0,7,7"), r"line 200000, saw 4"),
    "huge, time near its end": (huge("12,1.0"), r"12 follows 199997 \(row 199998, from 0\)"),
    "huge, no time near its end": (huge(",1.0"), r"needs a finite 'time', its time; row 199998 .*has none"),
    "unknown state": (with_options(table(), states=["X"]), r"`states` asks for 'X'; the data have \['time', 'x'\]"),
    "no line of names": (text("0,1,1\n1,2,2\n"), "first line of 'a.csv' must name its columns; got '0,1,1'"),
    "one column for time and label": (with_options(table(), trajectory="time"), "must name two columns; got 'time'"),
    "unknown input": (with_options(table(), inputs=["u"]), "`inputs` asks for 'u'"),
    "unknown time": (with_options(table(), time="t"), r"`time` asks for 't'.*Did you mean 'time'|`time` asks for 't'"),
    "unknown trajectory": (with_options(table(), trajectory="run"), "`trajectory` asks for 'run'"),
    "state and input": (with_options(table(), states=["x"], inputs=["x"]), "must stand once in `states` and `inputs`"),
    "time as a state": (with_options(table(), states=["time"]), "must not have the name of an axis; got 'time'"),
    "words for numbers": (with_options(table(x=["a", "b"]), states=["x"]), "'x' must hold numbers; row 0"),
    "complex numbers": (with_options(table(x=[1j, 2j]), states=["x"]), "'x' must hold numbers"),
    "no numbers": (table(x=["a", "b"]), "no state found: of .*Name them in `states`"),
    "duplicate times": (table(time=[1.0, 1.0]), r"times must increase; 1 follows 1 \(row 1"),
    "decreasing times": (table(trajectory=[1, 1], time=[1.0, 0.0]), "trajectory 1 has 0 after 1 .*Sort it or drop"),
    "infinite time": (table(time=[0.0, np.inf]), "needs a finite 'time', its time; row 1 .*has inf"),
    "missing label": (table(trajectory=["a", None]), "needs a 'trajectory', its trajectory; row 1"),
    "channel never seen": (table(y=[np.nan, np.nan]), "state 'y' is never observed.*Leave it out of `states`"),
    "infinite value": (table(x=[1.0, -np.inf]), r"'x' is infinite in trajectory 0 \(point 1\)\. Drop what diverged"),
    "input never known": (with_options(table(u=[np.nan, np.nan]), inputs=["u"]), "'u' has no value in trajectory 0"),
    "unknown input kind": (with_options(table(u=1.0), inputs=["u"], input_kind="held"), "one of hold, .*got 'held'"),
    "dates without a unit": (table(**DATES), "dates or durations need a unit.*got none. State"),
    "unknown unit of dates": (
        with_options(table(**DATES), units={"time": "year"}),
        "one of ns, .*got \"time\": 'year'",
    ),
    "ambiguous dates": (table(time=["01/02/24", "02/02/24"]), "or dates such as 2024-05-31.*row 0 .*'01/02/24'"),
    "wrong unit": (with_options(table(**{"y [deg]": 1.0}), units={"y": "rad"}), "'y' is in 'deg', and 'rad' was said"),
    "unit of nothing": (with_options(table(), units={"z": "m"}), "`units` asks for 'z'; the data have"),
    "no time axis": (lambda folder: xr.Dataset({"x": ("t", [1.0])}), "no 'time' coordinate; they have .*Name"),
    "a forecast": (lambda folder: xr.Dataset({"x": (("draw", "time"), [[1.0]])}), r"gm\.Forecast\.read"),
    "fields on two grids": (
        lambda folder: xr.Dataset(
            {"x": (("time", "a"), np.ones((2, 3))), "y": (("time", "b"), np.ones((2, 4)))}, {"time": [0.0, 1.0]}
        ),
        "'y' must have the axes .*States share one grid",
    ),
}


@pytest.mark.parametrize("case", CATALOGUE)
def test_what_cannot_be_read_is_refused_with_help(case, tmp_path):
    make, said = CATALOGUE[case]
    made: Any = make(tmp_path)
    source, options = made if isinstance(made, tuple) else (made, {})
    with pytest.raises(GreymatchError) as caught:
        read(source, **options)
    message = str(caught.value)
    assert re.search(said, message, re.DOTALL), message
    assert len(message) < ONE_SCREEN


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write to")
@pytest.mark.parametrize("kind", [*LABELLED, "csv", "parquet"])
def test_a_folder_that_cannot_be_written_to_is_named(kind):
    with pytest.raises(GreymatchError, match=rf"cannot write '/proc/self/a\.{kind}': .*choose another folder"):
        write(good(), f"/proc/self/a.{kind}")


def test_text_of_a_table_that_is_no_text_is_told(tmp_path: Path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    broken = pa.StringArray.from_buffers(1, pa.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0])), pa.py_buffer(b"a\xff"))
    pq.write_table(pa.table({"trajectory": broken, "time": [0.0], "x": [1.0]}), tmp_path / "a.parquet")
    with pytest.raises(GreymatchError, match=r"could not be read as \.parquet: Invalid UTF8"):
        read(tmp_path / "a.parquet")
