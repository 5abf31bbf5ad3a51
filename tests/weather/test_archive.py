from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.read import read
from greymatch.weather.splits import Splits


@pytest.fixture
def archive(wb1_folder: Path) -> Archive:
    return read(wb1_folder)


def test_splits_take_the_years_that_are_there(archive: Archive) -> None:
    later = archive.fields.assign_coords(time=archive.fields["time"] + np.timedelta64(366, "D"))
    both = Archive(xr.concat([archive.fields, later], "time"), archive.still)
    parts = both.split(Splits(train=(1979, 2015)))
    assert {name: len(part) for name, part in parts.items()} == {"train": 20, "val": 280 - 20 + 20, "test": 260}


def test_default_splits_are_those_of_the_paper() -> None:
    assert dict(Splits().items()) == {"train": (2006, 2015), "val": (2016, 2016), "test": (2017, 2018)}


def test_splits_must_not_share_years_nor_run_backwards() -> None:
    with pytest.raises(GreymatchError, match="`train` and `val` must not share years; both have 2016"):
        Splits(train=(2006, 2016))
    with pytest.raises(GreymatchError, match="`test` must be"):
        Splits(test=(2018, 2017))


def test_years_without_data_are_named(archive: Archive) -> None:
    with pytest.raises(GreymatchError, match="no state from 2017 to 2018; it has 2015 to 2016"):
        archive.split()


def test_chunks_are_consecutive_states(archive: Archive) -> None:
    archive = archive.load()
    chunks = list(archive.chunks(8))
    assert len(chunks) == 280 // 8
    assert chunks[1].values.shape == (1, 8, 5, 8, 16)
    joined = torch.cat([chunk.values[0] for chunk in chunks])
    np.testing.assert_array_equal(joined[:, 2].numpy(), archive.fields["t2m"].values)
    assert len(list(archive.chunks(8, every=4))) == 69


def test_gaps_are_stepped_over(archive: Archive) -> None:
    kept = np.delete(np.arange(280), [100, 101])
    gappy = Archive(archive.fields.isel(time=kept), archive.still)
    starts = gappy.starts(5)
    assert 95 in starts
    assert not np.isin([96, 97, 98, 99], starts).any()
    for start in starts:
        assert set(np.diff(gappy.times[start : start + 5])) == {np.timedelta64(6, "h")}
    with pytest.raises(GreymatchError, match="no 300 states in a row"):
        gappy.starts(300)


def test_a_batch_is_read_in_the_order_asked(archive: Archive) -> None:
    batch = archive.at([7, 0, 7], 3)
    assert torch.equal(batch.values[0], batch.values[2])
    assert str(batch.times[1, 2])[:13] == "2015-12-27T12"
    np.testing.assert_array_equal(batch.clock.hour[:, 0], [18, 0, 18])
    again = archive.load().at([7, 0, 7], 3)
    assert torch.equal(batch.values, again.values)
    with pytest.raises(GreymatchError, match="`starts` must lie between 0 and 277"):
        archive.at([278], 3)


def test_a_chunk_becomes_trajectories_of_the_core(archive: Archive) -> None:
    chunk = archive.at([0, 20], 4)
    data = chunk.trajectories()
    assert data.states == ("z500", "t850", "t2m", "u10", "v10")
    assert data.values.shape == (2, 4, 5, 8, 16)
    assert data.times[1].tolist() == chunk.clock.hours[1].tolist()
    assert data.labels.tolist() == ["2015-12-27T00", "2016-01-01T00"]
    back = data.to_dataset()
    np.testing.assert_array_equal(back["lat"].values, archive.fields["lat"].values)
    assert back["t2m"].attrs["units"] == "K"


def test_values_that_are_not_finite_are_refused_with_their_date(archive: Archive) -> None:
    fields = archive.fields.load().copy(deep=True)
    fields["t2m"][6, 2, 3] = np.nan
    with pytest.raises(GreymatchError, match="values of t2m that are not finite, at 2015-12-28T12"):
        Archive(fields, archive.still).at([4], 4)


def test_monthly_means_are_of_whole_months(archive: Archive) -> None:
    """January and February 2016: the fields grow by one a day, so that means are those of the middle."""
    monthly = archive.monthly()
    assert [str(time)[:10] for time in monthly.times] == ["2016-01-01", "2016-02-01"]
    means = monthly.fields["z500"].values
    np.testing.assert_allclose(means[1] - means[0], (31 + 29) / 2, rtol=1e-4)
    assert monthly.step == "month"
    assert monthly.monthly() is monthly
    assert monthly.at([0], 2).values.shape == (1, 2, 5, 8, 16)
    assert monthly.starts(2).tolist() == [0]


def test_monthly_means_need_a_whole_month(archive: Archive) -> None:
    with pytest.raises(GreymatchError, match="no whole month"):
        archive.years(2015, 2015).monthly()


def test_simulations_say_so(archive: Archive) -> None:
    assert not archive.simulated
    assert "simulated" not in repr(archive)
    labelled = Archive(archive.fields.assign_attrs(simulated=1), archive.still)
    assert labelled.simulated
    assert "280 maps simulated" in repr(labelled)


def test_missing_constants_are_told_when_asked_for(archive: Archive) -> None:
    bare = Archive(archive.fields, xr.Dataset())
    assert len(bare) == 280
    with pytest.raises(GreymatchError, match="no land and no orography"):
        _ = bare.constants
