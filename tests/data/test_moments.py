from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import greymatch as gm
from greymatch.data.moments import moment
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError


@pytest.fixture
def tanks() -> Trajectories:
    """Two recordings of six half hours, the second an hour later."""
    starts = {"a": "2024-05-01 08:00", "b": "2024-05-01 09:00"}
    tables = [
        pd.DataFrame({"trajectory": name, "time": pd.date_range(start, periods=6, freq="30min"), "level": range(6)})
        for name, start in starts.items()
    ]
    return gm.read(pd.concat(tables), units={"time": "h"})


@pytest.mark.parametrize(
    "date", ["2024-05-01 10:00", "2024-05-01T10:00:00Z", "2024-05-01T12:00+02:00", np.datetime64("2024-05-01T10:00")]
)
def test_one_date_is_another_time_in_each_trajectory(tanks: Trajectories, date: str):
    assert moment(tanks, date, "t").tolist() == [2.0, 1.0]
    assert tanks.until(date).lengths.tolist() == [5, 3]


@pytest.mark.parametrize("number", [1.5, "1.5", np.float32(1.5)])
def test_a_number_is_the_same_in_all(tanks: Trajectories, number: object):
    assert moment(tanks, number, "t").tolist() == [1.5, 1.5]


@pytest.mark.parametrize("asked", ["noon", "", None, "NaT", "08:00", "99999-01-01"])
def test_what_is_neither_is_refused(tanks: Trajectories, asked: object):
    with pytest.raises(GreymatchError, match=r"`--to` must be a number, .*, or an ISO date .* got "):
        moment(tanks, asked, "--to")


def test_a_date_among_numbers_is_refused():
    plain = gm.read(pd.DataFrame({"time": [0.0, 1.0], "level": [1.0, 2.0]}))
    with pytest.raises(GreymatchError, match=r"`t` must be a number.*'2024-05-01': the times of these data are no dat"):
        plain.until("2024-05-01")
