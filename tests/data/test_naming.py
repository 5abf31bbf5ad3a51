from __future__ import annotations

import pandas as pd
import pytest
import xarray as xr

from greymatch.data.read import read
from greymatch.errors import GreymatchError

COLUMNS = {
    "run": ["a", "a"],
    "t [ms]": [0.0, 10.0],
    "theta [deg]": [1.0, 2.0],
    "angle": [5.0, 6.0],
    "Flow(1)": [3.0, 4.0],
}


def table() -> pd.DataFrame:
    return pd.DataFrame(COLUMNS)


def dataset() -> xr.Dataset:
    return xr.Dataset({name: ("time", COLUMNS[name]) for name in ("angle", "Flow(1)")}, {"time": [0.0, 10.0]})


def test_columns_are_renamed_and_units_in_headers_kept():
    data = read(table(), states={"angle": "theta"}, inputs={"flow": "Flow(1)"}, trajectory="run", time="t")
    assert (data.states, data.values.flatten().tolist()) == (("angle",), [1.0, 2.0])
    assert data.inputs is not None
    assert (data.inputs.names, data.inputs.values.flatten().tolist()) == (("flow",), [3.0, 4.0])
    assert data.units == {"angle": "deg", "time": "ms"}


def test_whole_headers_may_be_named_too():
    assert read(table(), states=["theta [deg]"], time="t [ms]").units == {"theta [deg]": "deg", "time": "ms"}
    assert read(table(), time="t").states == ("theta", "angle", "Flow(1)")


def test_variables_are_renamed_and_swapped():
    data = read(dataset(), states={"angle": "Flow(1)"})
    assert (data.states, data.values.flatten().tolist()) == (("angle",), [3.0, 4.0])
    swapped = read(dataset().rename({"Flow(1)": "flow"}), states={"angle": "flow", "flow": "angle"})
    assert swapped.values[0].tolist() == [[3.0, 5.0], [4.0, 6.0]]


def test_units_may_be_said():
    data = read(dataset(), states={"x": "angle"}, units={"x": "rad", "time": "s"})
    assert data.units == {"x": "rad", "time": "s"}
    assert read(table(), states={"x": "angle"}, time="t", units={"t": "ms"}).units == {"time": "ms"}


def test_headers_of_one_name_and_two_units_stay_apart():
    both = pd.DataFrame({"time": [0.0, 1.0], "p [bar]": [1.0, 2.0], "p [Pa]": [1e5, 2e5]})
    assert read(both, states={"p": "p [Pa]"}).values.flatten().tolist() == [1e5, 2e5]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"states": {"angle": "thetta"}}, r"`states` asks for 'thetta'.*Did you mean 'theta'"),
        ({"inputs": {"u": "flow"}}, "`inputs` asks for 'flow'"),
        ({"states": "angle"}, r"`states` must be a list of names, .*; got 'angle'"),
        ({"states": 3}, "`states` must be a list of names"),
        ({"states": {"angle": 1}}, "`states` must map a new name to a column; got 'angle': 1"),
        ({"states": {"angle": abs}}, "`states` must map a new name to a column"),
        ({"states": ["angle", "angle"]}, "must stand once in `states`"),
        ({"states": {"a": "angle", "b": "angle"}}, "'angle' stands for 'a' and 'b'"),
        ({"states": {"t": "angle"}}, "must not have the name of an axis; got 't'"),
        ({"units": {"angel": "rad"}}, "`units` asks for 'angel'.*Did you mean 'angle'"),
        ({"units": {"theta": "rad"}}, "must agree with the data; 'theta' is in 'deg', and 'rad' was said"),
        ({"units": {"time": "s"}}, "'time' is in 'ms', and 's' was said"),
        ({"units": {"angle": 3}}, "`units` must be a text for each name"),
        ({"units": ["rad"]}, "`units` must be a text for each name"),
    ],
)
def test_names_that_do_not_fit_are_refused(options, said):
    with pytest.raises(GreymatchError, match=said):
        read(table(), trajectory="run", time="t", **options)


def test_a_variable_cannot_take_the_name_of_an_axis():
    with pytest.raises(GreymatchError, match="name of an axis; got 'time'"):
        read(dataset(), states={"time": "angle"})
