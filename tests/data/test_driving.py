from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from greymatch.data.read import read
from greymatch.data.trajectories import Trajectories
from greymatch.data.write import write
from greymatch.errors import GreymatchError


def swings() -> Trajectories:
    table = pd.DataFrame({"trajectory": ["a", "a", "b"], "time": [0.0, 1.0, 0.0], "x": [1.0, 2.0, 3.0], "v": 5.0})
    return read(table, states=["x"], inputs=["v"], input_kind="linear")


def valves(labels: list[str]) -> Trajectories:
    table = pd.DataFrame({"trajectory": np.repeat(labels, 3), "time": np.tile([0.0, 0.3, 9.0], len(labels))})
    return read(table.assign(valve=np.arange(3.0 * len(labels))), units={"valve": "l/s"})


def at(data: Trajectories, time: float) -> list[list[float]]:
    assert data.inputs is not None
    return data.inputs.at(torch.arange(len(data)), torch.full((len(data), 1), time).double())[:, 0].tolist()


def test_functions_join_the_inputs_there_are():
    data = swings().with_inputs({"drive": lambda t: 10 * t})
    assert data.inputs is not None
    assert data.inputs.names == ("v", "drive")
    assert at(data.select([0]), 0.5) == [[5.0, 5.0]]


def test_functions_are_read_beside_columns_and_alone():
    table = pd.DataFrame({"time": [0.0, 1.0], "x": [1.0, 2.0], "v": [3.0, 3.0]})
    both = read(table, states=["x"], inputs={"valve": "v", "drive": np.cos}, input_kind="hold")
    assert at(both, 0.5) == [[3.0, pytest.approx(np.cos(0.5))]]
    alone = read(table, states=["x"], inputs={"drive": np.cos})
    assert at(alone, 50.0) == [[pytest.approx(np.cos(50.0))]]


def test_what_was_computed_is_written_as_samples(tmp_path):
    data = read(pd.DataFrame({"time": [0.0, 1.0, 2.0], "x": 1.0}), inputs={"drive": np.square})
    assert at(read(write(data, tmp_path / "a.nc"), input_kind="linear"), 1.5) == [[2.5]]


def test_inputs_of_another_file_keep_their_own_times():
    data = swings().with_inputs(valves(["b", "a"]), kind="hold")
    assert data.inputs is not None
    assert (data.inputs.names, data.units["valve"]) == (("valve",), "l/s")
    assert (at(data, 0.2), at(data, 5.0)) == ([[3.0], [0.0]], [[4.0], [1.0]])


def test_one_recording_of_inputs_serves_all():
    assert at(swings().with_inputs(valves(["all"]), kind="hold"), 9.0) == [[2.0], [2.0]]


def test_dates_of_both_are_brought_together():
    swing = pd.DataFrame({"time": pd.to_datetime(["2024-01-01 12:00", "2024-01-01 13:00"]), "x": [1.0, 2.0]})
    valve = pd.DataFrame({"time": pd.to_datetime(["2024-01-01 10:00", "2024-01-01 14:00"]), "valve": [0.0, 4.0]})
    data = read(swing, units={"time": "h"}).with_inputs(read(valve, units={"time": "h"}), kind="linear")
    assert at(data, 0.0) == [[2.0]]
    with pytest.raises(GreymatchError, match="both have dates"):
        read(swing, units={"time": "h"}).with_inputs(valves(["all"]))


def test_inputs_that_do_not_fit_are_refused(recording):
    with pytest.raises(GreymatchError, match=r"'b' is not among those of the inputs, \['a', 'c'\]"):
        swings().with_inputs(valves(["a", "c"]))
    field = recording([0.0, 1.0], torch.ones(1, 2, 1, 3), grid=("x",))
    with pytest.raises(GreymatchError, match=r"must not lie on a grid; these have the axes \['x'\]"):
        swings().with_inputs(field)
    with pytest.raises(GreymatchError, match="input 'drive' must be a function"):
        swings().with_inputs({"drive": 3.0})  # pyright: ignore[reportArgumentType] - that is the point
