from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from greymatch.data.read import read
from greymatch.data.write import write
from greymatch.errors import GreymatchError
from greymatch.forecast.forecast import Forecast


@st.composite
def forecasts(draw: st.DrawFn, fields: bool) -> Forecast:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    draws, count, points, states = (draw(st.integers(1, 3)) for _ in range(4))
    grid = ("y", "x") if fields and draw(st.booleans()) else ()
    times = rng.uniform(0.1, 1, (count, points)).cumsum(1)
    if draw(st.booleans()):
        times[:-1, 1:] = np.inf
    values = rng.normal(size=(draws, count, points, states, *(2,) * len(grid)))
    values[:, ~np.isfinite(times)] = np.nan
    status = rng.integers(0, 2, (draws, count))
    values[status > 0] = np.nan
    return Forecast(
        torch.as_tensor(values),
        torch.as_tensor(times),
        torch.as_tensor(rng.uniform(-1, 0, count)),
        ("heat", "angle", "level")[:states],
        np.array(["run b", "run a", "c"])[:count],
        torch.as_tensor(status),
        grid,
        units={"heat": "K", "time": "h"},
        epoch=rng.integers(0, 2**60, count).astype("M8[ns]") if draw(st.booleans()) else None,
    )


@pytest.mark.parametrize("name", ["a.nc", "a.h5", "a.zarr", "a.npz", "a.parquet", "a.csv"])
@settings(max_examples=10)
@given(data=st.data())
def test_every_format_gives_back_what_was_written(name, data):
    before = data.draw(forecasts(fields=name not in ("a.parquet", "a.csv")))
    with tempfile.TemporaryDirectory() as folder:
        after = Forecast.read(write(before, Path(folder) / name))
    for part in ("draws", "times", "start", "status"):
        torch.testing.assert_close(getattr(after, part), getattr(before, part), rtol=0, atol=0, equal_nan=True)
    assert (after.states, after.grid, after.units) == (before.states, before.grid, before.units)
    assert after.labels.tolist() == before.labels.tolist()
    np.testing.assert_array_equal(after.epoch, before.epoch)  # pyright: ignore[reportArgumentType] - None equals None


def test_tables_say_when_and_in_which_unit(cast, tmp_path):
    epoch = np.array(["2024-01-01"], dtype="M8[ns]")
    forecast = cast(torch.ones(2, 1, 2), [1.0, 2.0], labels=["a"], units={"time": "h", "x0": "m"}, epoch=epoch)
    table = pd.read_csv(write(forecast, tmp_path / "a.csv"))
    assert list(table.columns) == ["draw", "trajectory", "time [h]", "x0 [m]", "start", "status", "date"]
    assert table["date"].tolist() == ["2024-01-01 01:00:00", "2024-01-01 02:00:00"] * 2
    assert forecast.mean()["date"].values.astype("M8[h]").astype(str).tolist() == [["2024-01-01T01", "2024-01-01T02"]]


def test_forecasts_and_recordings_are_not_mistaken(cast, tmp_path):
    path = write(cast(torch.ones(2, 1, 2), [1.0, 2.0]), tmp_path / "a.nc")
    with pytest.raises(GreymatchError, match=r"an axis 'draw', as forecasts do.*Forecast\.read"):
        read(path)
    for name in ("b.csv", "b.nc"):
        write(read(pd.DataFrame({"time": [0.0, 1.0], "x": 1.0})), tmp_path / name)
        with pytest.raises(GreymatchError, match=r"'draw'|it lacks"):
            Forecast.read(tmp_path / name)


def test_tables_with_rows_lost_are_refused(cast, tmp_path):
    table = pd.read_parquet(write(cast(torch.ones(2, 1, 2), [1.0, 2.0]), tmp_path / "a.parquet"))
    for broken in (table.iloc[:3], table.iloc[[0, 1, 3, 2]], table.iloc[:0]):
        broken.to_csv(tmp_path / "b.csv", index=False)
        with pytest.raises(GreymatchError, match="the same trajectories and times for each"):
            Forecast.read(tmp_path / "b.csv")
