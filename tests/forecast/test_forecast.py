from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.forecast import chunks
from greymatch.forecast.forecast import Forecast
from greymatch.simulation.status import Status

NAN, INF = math.nan, math.inf


@pytest.fixture
def forecast(cast):
    """Three draws of two trajectories of one state; the second draw of "b" fails after its first time."""
    draws = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[2.0, 4.0], [5.0, NAN]], [[6.0, 3.0], [7.0, 8.0]]])
    status = torch.tensor([[0, 0], [0, Status.NOT_FINITE], [0, 0]])
    return cast(draws, [0.5, 1.0], labels=["a", "b"], status=status, units={"x0": "m", "time": "s"})


@pytest.fixture
def fields(cast):
    """Two states on a grid, each trajectory on its own times."""
    draws = torch.arange(2 * 2 * 3 * 2 * 2 * 3).reshape(2, 2, 3, 2, 2, 3).float()
    draws[:, 1, 2] = NAN
    coords = {"y": np.array([0.5, 1.5]), "x": np.array([10, 20, 30])}
    times = [[1.0, 2.0, 3.0], [1.5, 2.5, INF]]
    return cast(draws, times, [0.0, 1.0], [7, 4], grid=("y", "x"), grid_coords=coords)


def test_summaries_skip_failed_draws(forecast):
    np.testing.assert_allclose(forecast.mean()["x0"], [[3.0, 3.0], [5.0, 6.0]])
    np.testing.assert_allclose(forecast.quantile(0.5)["x0"], [[2.0, 3.0], [5.0, 6.0]])
    np.testing.assert_allclose(forecast.std()["x0"].sel(trajectory="b"), [2.0, math.sqrt(8)], rtol=1e-6)
    assert forecast.failed == 1


def test_several_quantiles_stand_along_an_axis(forecast):
    both = forecast.quantile([0.25, 0.75])["x0"]
    assert both.dims == ("quantile", "trajectory", "time")
    assert both["quantile"].values.tolist() == [0.25, 0.75]
    low, high = forecast.interval(0.5)
    np.testing.assert_array_equal(low["x0"], both[0])
    np.testing.assert_array_equal(high["x0"], both[1])


def test_labels_and_units_follow(forecast):
    mean = forecast.mean()
    assert mean["x0"].dims == ("trajectory", "time")
    assert mean["x0"].sel(trajectory="b", time=1.0) == 6.0
    assert mean["x0"].attrs["units"] == "m"
    assert mean["time"].attrs["units"] == "s"
    assert mean["start"].values.tolist() == [0.0, 0.0]


def test_times_of_their_own_make_a_table_of_times(fields):
    mean = fields.mean()
    assert mean["x1"].dims == ("trajectory", "time", "y", "x")
    np.testing.assert_array_equal(mean["time"], [[1.0, 2.0, 3.0], [1.5, 2.5, NAN]])
    expected = fields.draws[:, 1, 1, 1].mean(0)
    np.testing.assert_array_equal(mean["x1"].sel(trajectory=4).isel(time=1), expected)
    assert bool(mean["x0"].sel(trajectory=4).isel(time=2).isnull().all())


def test_work_in_pieces_is_the_same(fields, monkeypatch):
    whole = fields.quantile([0.1, 0.9]), fields.std()
    monkeypatch.setattr(chunks, "_NUMBERS", 1)
    for one, other in zip(whole, (fields.quantile([0.1, 0.9]), fields.std()), strict=True):
        xr.testing.assert_identical(one, other)


@pytest.mark.parametrize("which", ["forecast", "fields"])
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_dataset_and_back_is_the_same(which, on_disk, request, tmp_path):
    before: Forecast = request.getfixturevalue(which)
    dataset = before.to_dataset()
    if on_disk:
        dataset.to_netcdf(tmp_path / "forecast.nc", engine="h5netcdf")
        dataset = xr.load_dataset(tmp_path / "forecast.nc", engine="h5netcdf")
    after = Forecast.from_dataset(dataset)
    for name in ("draws", "times", "start", "status"):
        torch.testing.assert_close(getattr(after, name), getattr(before, name), rtol=0, atol=0, equal_nan=True)
    assert (after.states, after.grid, after.units) == (before.states, before.grid, before.units)
    assert after.labels.tolist() == before.labels.tolist()
    assert {name: value.tolist() for name, value in after.grid_coords.items()} == {
        name: value.tolist() for name, value in before.grid_coords.items()
    }


def test_the_dataset_says_what_the_status_means(forecast):
    status = forecast.to_dataset()["status"]
    assert status.dims == ("draw", "trajectory")
    meanings = dict(zip(status.attrs["flag_values"].tolist(), status.attrs["flag_meanings"].split(), strict=True))
    assert meanings[int(status.sel(draw=1, trajectory="b"))] == "not_finite"
    assert meanings[0] == "solved"


def test_states_come_back_in_their_order(cast):
    swapped = cast(torch.rand(1, 1, 2, 2), [1.0, 2.0], states=("z", "a"))
    dataset = swapped.to_dataset()[["a", "z", "status"]]
    assert Forecast.from_dataset(dataset).states == ("z", "a")


def test_the_text_counts_failures(forecast, fields):
    assert "3 draws x 2 trajectories x 2 times of x0, lead 0.5 to 1" in repr(forecast)
    assert "1 of 6 members failed: 1 not finite" in repr(forecast)
    assert "on 2x3 grid" in repr(fields)
    assert "no failures" in repr(fields)


def test_a_forecast_takes_its_labels_from_the_history(recording):
    history = recording([[0.0, 1.0], [0.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]], ["a", "b"], units={"x0": "m"})
    times = torch.tensor([[3.0, 4.0], [3.0, INF]], dtype=torch.float64)
    after = Forecast.of(history, times, torch.ones(4, 2, 2, 1))
    assert after.start.tolist() == [1.0, 2.0]
    assert after.lead.tolist() == [[2.0, 3.0], [1.0, INF]]
    assert bool(after.draws[:, 1, 1].isnan().all())
    assert (after.failed, after.units, after.labels.tolist()) == (0, {"x0": "m"}, ["a", "b"])


@pytest.mark.parametrize("q", [-0.1, 50, NAN, [[0.5]]])
def test_a_quantile_must_be_a_share(forecast, q):
    with pytest.raises(GreymatchError, match=r"`q` must lie in \[0, 1\]"):
        forecast.quantile(q)


def test_a_level_must_be_a_share(forecast):
    with pytest.raises(GreymatchError, match="divide by 100"):
        forecast.interval(90)


def test_shapes_must_fit(cast):
    with pytest.raises(GreymatchError, match="`draws` must be"):
        cast(torch.ones(2, 3, 4), [1.0, 2.0])
    with pytest.raises(GreymatchError, match="at least one draw"):
        cast(torch.ones(0, 3, 2), [1.0, 2.0])
    with pytest.raises(GreymatchError, match="`status` must be"):
        cast(torch.ones(2, 3, 2), [1.0, 2.0], status=torch.zeros(3))


def test_other_datasets_are_refused(forecast):
    with pytest.raises(GreymatchError, match="status"):
        Forecast.from_dataset(forecast.mean())
