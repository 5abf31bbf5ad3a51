from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError

INF = float("inf")
DIMS = ("trajectory", "time")


def dataset() -> xr.Dataset:
    """Two trajectories of three points, x = 10 i + j."""
    x = np.array([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]])
    return xr.Dataset({"x": (DIMS, x)}, {"trajectory": ["a", "b"], "time": [0.0, 0.5, 1.0]})


@settings(max_examples=50)
@given(data=st.data())
def test_a_dataset_and_back_is_the_same(data, recordings, same):
    whole = data.draw(recordings(fields=None))
    same(Trajectories.from_dataset(whole.to_dataset()), whole)


@settings(max_examples=50)
@given(data=st.data())
def test_a_history_keeps_its_inputs_beyond_it(data, recordings, same):
    whole = data.draw(recordings(driven=True, least=2))
    history = whole.until(float(whole.times[:, 0].max()))
    same(Trajectories.from_dataset(history.to_dataset()), history)


def test_inputs_share_the_time_axis_when_sampled_on_it(recordings):
    @settings(max_examples=30)
    @given(recordings(driven=True, least=2))
    def check(whole: Trajectories) -> None:
        assert whole.to_dataset()["push"].dims == DIMS
        shorter = whole.first(1).to_dataset()
        assert shorter["push"].dims == ("trajectory", "input_time")
        assert shorter["input_times"].shape[1] == int(whole.lengths.max())

    check()


def test_an_unobserved_end_comes_back_though_inputs_are_known_there(same):
    data = Trajectories.from_dataset(dataset().assign(u=(DIMS, np.ones((2, 3)))), ["x"], ["u"])
    mask = data.mask.clone()
    mask[1, 2] = False
    gappy = dataclasses.replace(data, mask=mask, values=data.values * mask)
    again = Trajectories.from_dataset(gappy.to_dataset())
    same(again, gappy)
    assert again.lengths.tolist() == [3, 3]


def test_shared_times_become_one_axis_and_others_two():
    assert Trajectories.from_dataset(dataset()).to_dataset()["time"].dims == ("time",)
    own = dataset().assign_coords(time=(DIMS, [[0.0, 0.5, np.nan], [0.0, 0.5, 1.0]]))
    data = Trajectories.from_dataset(own)
    assert data.lengths.tolist() == [2, 3]
    assert not data.mask[0, 2]
    assert data.to_dataset()["time"].dims == DIMS


def test_nan_is_a_gap_and_infinity_an_error():
    holed = dataset()
    holed["x"][1, 1] = np.nan
    data = Trajectories.from_dataset(holed)
    assert data.mask[..., 0].tolist() == [[True, True, True], [True, False, True]]
    holed["x"][1, 1] = np.inf
    with pytest.raises(GreymatchError, match=r"'x' is infinite in trajectory 'b' \(point 1\)"):
        Trajectories.from_dataset(holed)


def test_variables_over_trajectory_alone_are_the_truth():
    data = Trajectories.from_dataset(dataset().assign(omega=("trajectory", [2.0, 3.0])))
    assert data.states == ("x",)
    assert data.truth["omega"].tolist() == [2.0, 3.0]


def test_units_are_kept_of_what_is_kept():
    units = dataset().assign(y=dataset()["x"], omega=("trajectory", [2.0, 3.0], {"units": "rad/s"}))
    for name, unit in (("x", "m"), ("y", "V"), ("time", "s")):
        units[name].attrs["units"] = unit
    data = Trajectories.from_dataset(units, ["x"])
    assert data.units == {"x": "m", "time": "s", "omega": "rad/s"}
    assert data.to_dataset()["time"].attrs["units"] == "s"


def test_fields_of_differing_axis_order_are_aligned():
    field = np.arange(24.0).reshape(2, 3, 2, 2)
    fields = xr.Dataset(
        {
            "p": ((*DIMS, "y", "x"), field),
            "q": (("x", "time", "y", "trajectory"), field.transpose(3, 1, 2, 0)),
        },
        {"time": [0.0, 1.0, 2.0]},
    )
    data = Trajectories.from_dataset(fields)
    assert data.grid == ("y", "x")
    assert torch.equal(data.values[:, :, 0], data.values[:, :, 1])


def test_other_names_of_the_axes():
    renamed = dataset().rename(trajectory="run", time="t")
    data = Trajectories.from_dataset(renamed, trajectory="run", time="t")
    assert (data.labels.tolist(), data.values[1, :, 0].tolist()) == (["a", "b"], [10.0, 11.0, 12.0])
    points = dataset().rename(time="point").drop_vars("point")
    points = points.assign_coords(clock=(("trajectory", "point"), [[0.0, 1.0, 2.0], [0.0, 3.0, 6.0]]))
    assert Trajectories.from_dataset(points, time="clock").times[1].tolist() == [0.0, 3.0, 6.0]


def test_without_a_trajectory_axis_it_is_one_trajectory():
    one = dataset().isel(trajectory=1)
    data = Trajectories.from_dataset(one.assign(omega=2.0))
    assert (data.labels.tolist(), data.values.flatten().tolist()) == (["b"], [10.0, 11.0, 12.0])
    assert data.truth["omega"].tolist() == [2.0]
    assert Trajectories.from_dataset(one.drop_vars("trajectory")).labels.tolist() == [0]


def test_states_on_a_shared_axis_end_where_only_inputs_go_on():
    driven = dataset().assign(u=(DIMS, [[1.0, 2.0, 3.0], [np.nan, 5.0, 6.0]]))
    driven["x"][0, 1:] = np.nan
    driven["x"][1, 0] = np.nan
    data = Trajectories.from_dataset(driven, inputs=["u"], input_kind="linear")
    assert data.lengths.tolist() == [1, 3]
    assert data.inputs is not None
    assert data.inputs.seen[..., 0].tolist() == [[True, True, True], [False, True, True]]
    asked = torch.tensor([[0.75]], dtype=torch.float64)
    assert data.inputs.at(torch.tensor([0]), asked).item() == pytest.approx(2.5)


def test_inputs_may_have_a_clock_of_their_own_or_be_common_to_all():
    driven = dataset().assign(u=("tick", [0.0, 4.0])).assign_coords(tick=[0.0, 8.0])
    data = Trajectories.from_dataset(driven, inputs=["u"], input_kind="linear")
    assert data.inputs is not None
    asked = torch.tensor([[2.0], [6.0]], dtype=torch.float64)
    assert data.inputs.at(torch.arange(2), asked).flatten().tolist() == [1.0, 3.0]


def test_marked_inputs_are_taken_only_when_nothing_is_named():
    marked = Trajectories.from_dataset(dataset().assign(u=(DIMS, np.ones((2, 3)))), inputs=["u"]).to_dataset()
    assert Trajectories.from_dataset(marked).inputs is not None
    assert Trajectories.from_dataset(marked, ["x"]).inputs is None
    assert Trajectories.from_dataset(marked, ["x", "u"]).states == ("x", "u")


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda d: d, {"states": ["X"]}, r"`states` asks for 'X'; the data have \['x'\]"),
        (lambda d: d.rename(x="angle"), {"states": ["angel"]}, "Did you mean 'angle'"),
        (lambda d: d, {"inputs": ["u"]}, "`inputs` asks for 'u'"),
        (lambda d: d, {"states": ["x"], "inputs": ["x"]}, "must stand once"),
        (lambda d: d, {"trajectory": "run"}, "`trajectory` asks for 'run'"),
        (lambda d: d, {"time": "t"}, "no 't' coordinate"),
        (lambda d: d.drop_vars("x"), {}, "no state found"),
        (lambda d: d.assign(x=("trajectory", [1.0, 2.0])), {"states": ["x"]}, "'x' must have the axes"),
        (lambda d: d.assign(x=(DIMS, np.full((2, 3), "a"))), {"states": ["x"]}, "'x' must hold numbers"),
        (lambda d: d.assign_coords(time=np.arange(3).astype("M8[s]")), {}, "dates or durations need a unit"),
        (lambda d: d.assign_coords(time=["a", "b", "c"]), {}, "times must be numbers"),
        (lambda d: d.assign_coords(time=[0.0, 2.0, 1.0]), {}, "trajectory 'a' has 1 after 2"),
        (lambda d: d * np.nan, {}, "state 'x' is never observed"),
        (lambda d: d.assign(u=("trajectory", [1.0, 2.0])), {"inputs": ["u"]}, "'u' must have the axes"),
        (lambda d: d.assign(y=((*DIMS, "k"), np.ones((2, 3, 2)))), {}, "'y' must have the axes"),
        (lambda d: d.assign(u=(DIMS, np.ones((2, 3)))), {"inputs": ["u"], "input_kind": "cubik"}, "cubic"),
    ],
)
def test_what_does_not_fit_is_named(change, options, said):
    with pytest.raises(GreymatchError, match=said):
        Trajectories.from_dataset(change(dataset()), **options)
