from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greymatch.data.places import places
from greymatch.data.read import read


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.booleans())
def test_rows_of_any_order_are_found_by_their_label(ids, as_text):
    labels = pd.Series([f"run {one}" for one in ids] if as_text else ids, name="id")
    where = places(labels)
    spread = where.spread(np.arange(float(len(ids))))
    for row, label in enumerate(where.labels):
        wanted = np.flatnonzero(labels == label)
        np.testing.assert_array_equal(spread[row][: len(wanted)], wanted)
        assert np.isnan(spread[row][len(wanted) :]).all()
    assert where.first(np.arange(len(ids))).tolist() == [ids.index(one) for one in dict.fromkeys(ids)]


def test_dates_are_padded_with_none():
    dates = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="M8[ns]")
    assert np.isnat(places(pd.Series([1, 1, 2])).spread(dates)).tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize("columns", [["x"], ["x", "y"], ["y", "x"]])
def test_data_do_not_change_with_the_table_or_dataset_they_were_read_from(columns):
    table = pd.DataFrame({"time": [0.0, 1.0], "x": [1.0, 2.0], "y": [3.0, 4.0]})
    block = np.arange(4.0).reshape(1, 2, 2)
    dataset = (
        read(table)
        .to_dataset()
        .assign(x=(("trajectory", "time"), block[..., 0]), y=(("trajectory", "time"), block[..., 1]))
    )
    for source in (table, dataset):
        data = read(source, states=columns)
        before = data.values.clone(), data.times.clone()
        source["x"] *= 2
        block *= 2
        table.loc[:, "time"] += 1
        assert data.values.equal(before[0])
        assert data.times.equal(before[1])


def test_columns_of_a_parquet_file_of_any_type_are_numbers(tmp_path):
    table = pd.DataFrame({"run": pd.Series(["b", "b", "a"], dtype="category"), "time": np.array([0, 1, 0], dtype="i4")})
    table = table.assign(x=pd.array([1, None, 3], dtype="Int64"), y=np.array([0.5, np.nan, 2.0], dtype="f4"))
    table.to_parquet(tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", trajectory="run")
    assert (data.labels.tolist(), data.values[0, :, 0].tolist()) == (["b", "a"], [1.0, 0.0])
    assert data.mask.tolist() == [[[True, True], [False, False]], [[True, True], [False, False]]]
    assert read(tmp_path / "a.parquet", states=["y"], trajectory="run").values.dtype.itemsize == 4
