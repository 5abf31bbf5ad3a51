from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from greymatch.data.dates import dated, epoch_of, nanoseconds
from greymatch.data.read import read
from greymatch.errors import GreymatchError

STAMPS = ["2024-01-01T00:00:00", "2024-01-01T00:01:30", "2024-01-03T12:00:00", "2024-01-03T13:00:00"]


def table(stamps: object = STAMPS) -> pd.DataFrame:
    return pd.DataFrame({"trajectory": ["a", "a", "b", "b"], "time": stamps, "x": [1.0, 2.0, 3.0, 4.0]})


@pytest.mark.parametrize(
    "stamps",
    [
        STAMPS,
        pd.to_datetime(STAMPS),
        pd.to_datetime(STAMPS).as_unit("s"),
        pd.to_datetime(STAMPS).tz_localize("UTC").tz_convert("Europe/Berlin"),
        [f"{stamp}+00:00" for stamp in STAMPS],
    ],
    ids=["text", "dates", "whole-seconds", "another-zone", "zoned-text"],
)
def test_dates_count_since_the_start_of_each_trajectory(stamps):
    data = read(table(stamps), units={"time": "min"})
    assert data.times.tolist() == [[0.0, 1.5], [0.0, 60.0]]
    assert data.units == {"time": "min"}
    assert data.epoch is not None
    assert data.epoch.tolist() == np.array([STAMPS[0], STAMPS[2]], dtype="M8[ns]").tolist()


@pytest.mark.parametrize(("unit", "day"), [("d", 1.0), ("hours", 24.0), ("Seconds", 86400.0), ("ms", 864e5)])
def test_units_have_their_length(unit, day):
    stamps = pd.to_datetime(["2024-02-28", "2024-02-29", "2024-02-28", "2024-02-29"])
    assert read(table(stamps), units={"time": unit}).times[:, 1].tolist() == [day, day]


def test_durations_are_not_shifted():
    data = read(table(pd.to_timedelta([5, 6, 7, 8], unit="h")), units={"time": "d"})
    assert data.times.tolist() == [[5 / 24, 6 / 24], [7 / 24, 8 / 24]]
    assert data.epoch is None


def test_dates_of_a_dataset_and_of_its_inputs_share_their_start():
    dates = np.array(STAMPS[:2], dtype="M8[s]")
    ticks = dates[0] + np.array([0, 200], dtype="m8[s]")
    dataset = xr.Dataset({"x": ("time", [1.0, 2.0]), "u": ("tick", [0.0, 4.0])}, {"time": dates, "tick": ticks})
    data = read(dataset, inputs=["u"], units={"time": "s"})
    assert data.inputs is not None
    assert (data.times.tolist(), data.inputs.times.tolist()) == ([[0.0, 90.0]], [[0.0, 200.0]])


def test_trajectories_keep_their_dates_when_selected():
    data = read(table(), units={"time": "s"}).select([1])
    assert data.epoch is not None
    assert data.to_dataset()["date"].values.tolist() == np.array([STAMPS[2:]], dtype="M8[ns]").tolist()


def test_tables_are_written_with_dates(tmp_path):
    from greymatch.data.write import write

    write(read(table(), units={"time": "min"}), tmp_path / "a.csv")
    again = read(tmp_path / "a.csv", states=["x"], time="date", units={"time": "min"})
    assert again.times.tolist() == [[0.0, 1.5], [0.0, 60.0]]


@given(st.integers(-(2**62), 2**62), st.floats(-1e6, 1e6), st.sampled_from(["s", "min", "h"]))
def test_an_epoch_comes_back_from_a_date(epoch, time, unit):
    when = np.array([epoch]).astype("M8[ns]")
    assert epoch_of(dated(when, np.array([time]), unit), np.array([time]), unit) == when


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(GreymatchError, match=r"one of ns, us, ms, s, min, h, d; got \"time\": 'parsec'"):
        nanoseconds("parsec")
    with pytest.raises(GreymatchError, match="Did you mean 'hour'"):
        nanoseconds("hourz")
    with pytest.raises(GreymatchError, match=r"'time' must hold dates; row 2 \(from 0\) has 'noon'"):
        read(table([*STAMPS[:2], "noon", STAMPS[3]]), units={"time": "s"})
    with pytest.raises(GreymatchError, match="numbers, or dates such as 2024-05-31"):
        read(table(["01/02/2024"] * 4), units={"time": "s"})
    with pytest.raises(GreymatchError, match="must increase; trajectory 'b'"):
        read(table([*STAMPS[:2], STAMPS[3], STAMPS[2]]), units={"time": "s"})
