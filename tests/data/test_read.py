from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from greymatch.data.read import read
from greymatch.errors import GreymatchError

CSV = """id,t,angle,note
b,0.0,1,
b,0.5,,fine
a,0.1,3,
b,1.0,4,
a,0.7,5,
"""


def table(text: str = CSV) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


def test_a_long_table_gives_each_trajectory_its_own_times_and_gaps():
    data = read(table(), trajectory="id", time="t")
    assert (data.states, data.labels.tolist()) == (("angle",), ["b", "a"])
    assert data.times.tolist() == [[0.0, 0.5, 1.0], [0.1, 0.7, float("inf")]]
    assert data.values[..., 0].tolist() == [[1.0, 0.0, 4.0], [3.0, 5.0, 0.0]]
    assert data.mask[..., 0].tolist() == [[True, False, True], [True, True, False]]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(0, 2**32 - 1))
def test_rows_may_be_interleaved_in_any_way(ids, seed):
    long = pd.DataFrame({"trajectory": ids, "time": np.arange(len(ids)) / 8})
    long["x"] = np.random.default_rng(seed).normal(size=len(ids))
    data = read(long)
    assert data.labels.tolist() == list(dict.fromkeys(ids))
    for row, (_, own) in enumerate(long.groupby("trajectory", sort=False)):
        count = int(data.lengths[row])
        assert data.times[row, :count].tolist() == own["time"].tolist()
        assert data.values[row, :count, 0].tolist() == own["x"].tolist()


def test_without_a_trajectory_column_it_is_one_trajectory():
    data = read(pd.DataFrame({"time": [0.0, 1.0], "x": [1, 2], "y": [3.0, 4.0]}))
    assert (len(data), data.states, data.values[0].tolist()) == (1, ("x", "y"), [[1.0, 3.0], [2.0, 4.0]])
    with pytest.raises(GreymatchError, match=r"0 follows 1 \(row 2, from 0\).*`trajectory`.*'run'"):
        read(pd.DataFrame({"run": [0, 0, 1, 1], "time": [0.0, 1.0, 0.0, 1.0], "x": 1.0}))


def test_axes_may_stand_in_the_index():
    indexed = table().drop(columns="note").set_index(["id", "t"])
    assert read(indexed, trajectory="id", time="t").labels.tolist() == ["b", "a"]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "float32", "object", "category"])
def test_columns_of_other_types_are_numbers_too(dtype):
    long = pd.DataFrame({"time": [0.0, 1.0, 2.0], "x": pd.Series([1, 0, 1]).astype(dtype)})
    assert read(long, states=["x"]).values.flatten().tolist() == [1.0, 0.0, 1.0]


def test_missing_values_of_nullable_columns_are_gaps():
    long = pd.DataFrame({"time": [0.0, 1.0], "x": pd.array([1, None], dtype="Int64")})
    assert read(long).mask.flatten().tolist() == [True, False]


def test_single_precision_is_kept():
    long = pd.DataFrame({"time": [0.0, 1.0], "x": np.array([0.1, 0.2], dtype=np.float32)})
    assert read(long).values.dtype.itemsize == 4


def test_constant_columns_are_states_and_not_the_truth():
    data = read(pd.DataFrame({"time": [0.0, 1.0], "x": [1.0, 2.0], "mass": [5.0, 5.0]}))
    assert (data.states, data.truth) == (("x", "mass"), {})


def test_inputs_skip_missing_samples_and_may_outlast_the_states():
    long = pd.DataFrame({"time": [0.0, 1.0, 2.0, 3.0], "x": [1.0, 2.0, None, None], "u": [0.0, None, 4.0, 6.0]})
    data = read(long, inputs=["u"], input_kind="linear")
    assert (data.states, data.lengths.tolist()) == (("x",), [2])
    assert data.inputs is not None
    samples = data.inputs.values[data.inputs.seen]
    assert (data.inputs.kind, samples.tolist()) == ("linear", [0.0, 4.0, 6.0])
    assert data.inputs.at(data.lengths * 0, data.times[:, 1:] + 0.5).item() == pytest.approx(3.0)


def test_inputs_are_cubic_unless_said():
    inputs = read(pd.DataFrame({"time": [0.0, 1.0], "x": 1.0, "u": 1.0}), inputs=["u"]).inputs
    assert inputs is not None
    assert inputs.kind == "cubic"


def test_a_saved_row_index_is_no_state(tmp_path):
    pd.DataFrame({"time": [0.0, 1.0], "x": [1.0, 2.0]}).to_csv(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv").states == ("x",)


@pytest.mark.parametrize(
    "text",
    [
        "time;x\n0,0;1,5\n0,5;2,5\n",
        "time;x\n0.0;1.5\n0.5;2.5\n",
        "time\tx\n0,0\t1,5\n0,5\t2,5\n",
        "\ufefftime,x\n0,1.5\n.5,2.5\n",
    ],
    ids=["semicolons", "points", "tabs", "byte-order-mark"],
)
def test_spreadsheets_of_other_countries_are_read(text, tmp_path):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    data = read(tmp_path / "a.csv")
    assert (data.times.tolist(), data.values.flatten().tolist()) == ([[0.0, 0.5]], [1.5, 2.5])


def test_seconds_in_a_file_stay_numbers(tmp_path):
    times = xr.DataArray([0.0, 30.0], dims="time", attrs={"units": "seconds"})
    xr.Dataset({"x": ("time", [1.0, 2.0])}, {"time": times}).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    data = read(str(tmp_path / "a.nc"))
    assert (data.times[0].tolist(), data.units) == ([0.0, 30.0], {"time": "seconds"})


def test_a_file_may_be_replaced_while_its_data_are_in_use(tmp_path):
    one = xr.Dataset({"x": ("time", [1.0, 2.0])}, {"time": [0.0, 1.0]})
    one.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    data = read(tmp_path / "a.nc")
    (2 * one).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    assert data.values.flatten().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (CSV, {"trajectory": "id", "time": "T"}, r"`time` asks for 'T'; the data have \['id', 't'"),
        (CSV, {"trajectory": "ids", "time": "t"}, "`trajectory` asks for 'ids'.* Did you mean 'id'"),
        (CSV, {"states": ["angel"], "trajectory": "id", "time": "t"}, "Did you mean 'angle'"),
        (CSV, {"inputs": ["force"], "trajectory": "id", "time": "t"}, "`inputs` asks for 'force'"),
        (CSV, {"states": ["note"], "trajectory": "id", "time": "t"}, r"'note' must hold .* row 1 .*'fine'"),
        (CSV.replace(",4,", ",four,"), {"trajectory": "id", "time": "t"}, r"'angle' .* row 3 .*'four'"),
        (CSV.replace("0.7", "0.1"), {"trajectory": "id", "time": "t"}, "trajectory 'a' has 0.1 after 0.1"),
        (CSV.replace("0.7", "0.0"), {"trajectory": "id", "time": "t"}, "trajectory 'a' has 0 after 0.1"),
        (CSV.replace("0.7", ""), {"trajectory": "id", "time": "t"}, "needs a finite 't', its time; row 4"),
        (
            CSV.replace("0.7", "noon"),
            {"trajectory": "id", "time": "t"},
            "'t' must hold numbers, or dates .*; row 4.*'noon'",
        ),
        (CSV.replace("a,0.7", ",0.7"), {"trajectory": "id", "time": "t"}, "needs a 'id', its trajectory; row 4"),
        ("time,x\n", {}, r"must have rows; got 0 rows of \['time', 'x'\]"),
        ("time,x\n0,\n1,\n", {}, "'x' is never observed"),
        ("time\n0\n1\n", {}, "no state found"),
    ],
)
def test_tables_that_do_not_fit_are_refused(text, options, said):
    with pytest.raises(GreymatchError, match=said):
        read(table(text), **options)


def test_dates_and_doubled_columns_are_refused():
    dates = pd.DataFrame({"time": pd.to_datetime(["2020-01-01", "2020-01-02"]), "x": 1.0})
    with pytest.raises(GreymatchError, match=r"dates or durations need a unit.*one of .* s, min.*got none.*units="):
        read(dates)
    with pytest.raises(GreymatchError, match="'x' stands twice"):
        read(pd.DataFrame([[0.0, 1.0, 2.0]], columns=["time", "x", "x"]))


def test_axes_are_named_by_text():
    with pytest.raises(GreymatchError, match="`time` must be the name of a column or axis; got 3"):
        read(table("time,x\n0,1\n1,2\n"), time=3)  # pyright: ignore[reportCallIssue, reportArgumentType] - the point


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "swings.csv").write_text("time,x\n0,1\n")
    with pytest.raises(GreymatchError, match=r"no file .*swing\.csv.* Did you mean 'swings.csv'"):
        read(tmp_path / "swing.csv")
    with pytest.raises(GreymatchError, match=r"must end in \.nc, .*; got 'swings\.xls'"):
        read(tmp_path / "swings.xls")
    for name in ("a.nc", "a.parquet", "a.csv"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(GreymatchError, match=rf"{name}' could not be read as"):
            read(tmp_path / name)
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(GreymatchError, match=r"a\.zarr' could not be read as \.zarr"):
        read(tmp_path / "a.zarr")
    with pytest.raises(GreymatchError, match="`source` must be a path, DataFrame or Dataset; got list"):
        read([1.0, 2.0])  # pyright: ignore[reportArgumentType] - that is the point
