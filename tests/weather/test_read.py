from __future__ import annotations

import shutil
from pathlib import Path

import dask.array
import numpy as np
import pytest
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.fields import FIELDS, FORECAST, fields_named
from greymatch.weather.read import read


@pytest.fixture
def folder(wb1_folder: Path, tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return shutil.copytree(wb1_folder, tmp_path / "copy")


@pytest.mark.parametrize("layout", ["wb1_folder", "wb2_store"])
def test_both_layouts_give_the_same(layout: str, maps, request: pytest.FixtureRequest) -> None:
    archive = read(request.getfixturevalue(layout))
    expected = maps("2015-12-27", 4 * 70)
    assert archive.names == FORECAST
    for name in FORECAST:
        assert archive.fields[name].dims == ("time", "lat", "lon")
        np.testing.assert_allclose(archive.fields[name].values, expected[name].values, rtol=1e-6)
    np.testing.assert_array_equal(archive.times, expected["time"].values)


@pytest.mark.parametrize("layout", ["wb1_folder", "wb2_store"])
def test_constants_are_in_metres_and_fractions(layout: str, request: pytest.FixtureRequest) -> None:
    still = read(request.getfixturevalue(layout)).constants
    np.testing.assert_allclose(still["orography"].sel(lat=78.75).values, 78.75, rtol=1e-6)
    assert still["land"].sel(lat=slice(None, 0)).max() == 0
    assert still["land"].dims == ("lat", "lon")


@pytest.mark.parametrize("layout", ["wb1_folder", "wb2_store"])
def test_nothing_is_read_before_it_is_used(layout: str, request: pytest.FixtureRequest) -> None:
    fields = read(request.getfixturevalue(layout)).fields
    assert all(isinstance(array.data, dask.array.Array) for array in fields.data_vars.values())


def test_a_folder_with_one_store_inside_will_do(wb2_store: Path) -> None:
    assert len(read(wb2_store.parent)) == 280


def test_years_and_hours_are_chosen(wb1_folder: Path, wb2_store: Path) -> None:
    archive = read(wb1_folder, years=(2016, 2016), hours=12)
    assert str(archive.times[0]) == "2016-01-01T00:00:00.000000000"
    assert set(np.diff(archive.times)) == {np.timedelta64(12, "h")}
    assert len(read(wb2_store, years=(2015, 2015))) == 4 * 5
    assert len(read(wb1_folder, hours=1)) == 24 * 70


def test_leap_day_is_kept(wb1_folder: Path) -> None:
    times = read(wb1_folder).times
    assert np.isin(np.arange("2016-02-29T00", "2016-03-01T00", 6, dtype="datetime64[h]"), times).all()


def test_axes_of_any_direction_come_out_in_order(maps, wb1_writer, tmp_path: Path) -> None:
    data = maps("2016-01-01", 4)
    turned = data.assign_coords(lon=(data["lon"] + 180) % 360 - 180).sortby("lon").sortby("lat", ascending=False)
    archive = read(wb1_writer(tmp_path / "turned", turned))
    np.testing.assert_array_equal(archive.fields["lat"].values, data["lat"].values)
    np.testing.assert_array_equal(archive.fields["lon"].values, data["lon"].values)
    np.testing.assert_array_equal(archive.fields["t2m"].values, data["t2m"].values)


def test_levels_are_found_in_the_folder_of_all_levels(folder: Path, maps) -> None:
    shutil.rmtree(folder / "geopotential_500")
    (folder / "geopotential").mkdir()
    for year, part in maps("2015-12-27", 24 * 70, hours=1)["z500"].groupby("time.year"):
        levels = xr.DataArray([250, 500], dims="level", name="level")
        both = xr.concat([0 * part, part], levels).transpose("time", "level", ...).rename("z")
        both.to_netcdf(folder / "geopotential" / f"geopotential_{year}_22.5deg.nc", engine="h5netcdf")
    assert float(read(folder).fields["z500"].isel(time=0).mean()) > 1000
    with pytest.raises(GreymatchError, match="no level 850 hPa; it has"):
        read(folder, fields=["z850"])


def test_what_is_missing_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GreymatchError, match="no folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(GreymatchError, match="WeatherBench 1"):
        read(tmp_path)
    with pytest.raises(GreymatchError, match=r"no file for 1980 to 1981.*\[2015, 2016\]"):
        read(folder, years=(1980, 1981))
    (folder / "2m_temperature").rename(folder / "2m_temperatur")
    with pytest.raises(GreymatchError, match="Did you mean '2m_temperatur'"):
        read(folder)


def test_missing_variables_and_years_of_a_store_are_named(wb2_store: Path) -> None:
    with pytest.raises(GreymatchError, match="must hold 'u_component_of_wind'"):
        read(wb2_store, fields=["u500"])
    with pytest.raises(GreymatchError, match="no state from 1980 to 1980; it has 2015-12-27 to"):
        read(wb2_store, years=(1980, 1980))


def test_spoilt_files_are_refused(folder: Path) -> None:
    file = next((folder / "2m_temperature").glob("*2016*"))
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(GreymatchError, match="not a whole NetCDF file"):
        read(folder)
    xr.Dataset({"other": ("time", [1.0])}).to_netcdf(file, engine="h5netcdf")
    with pytest.raises(GreymatchError, match="must hold the variable 't2m'"):
        read(folder)


def test_a_year_that_is_there_twice_is_refused(folder: Path) -> None:
    for sub in folder.iterdir():
        for file in sub.glob("*_2016_*"):
            shutil.copy(file, file.with_name(file.name.replace("2016", "2017")))
    with pytest.raises(GreymatchError, match="times must increase"):
        read(folder)


def test_uneven_grids_are_refused(maps, wb1_writer, tmp_path: Path) -> None:
    data = maps("2016-01-01", 4).isel(lat=[0, 1, 3, 4])
    with pytest.raises(GreymatchError, match="regular grid; lat goes"):
        read(wb1_writer(tmp_path / "uneven", data))


def test_files_without_latitudes_are_refused(maps, wb1_writer, tmp_path: Path) -> None:
    with pytest.raises(GreymatchError, match="must have the axes latitude and longitude"):
        read(wb1_writer(tmp_path / "bare", maps("2016-01-01", 4).drop_vars("lat")))


@pytest.mark.parametrize("hours", [0, 5, 48])
def test_hours_must_divide_a_day(wb1_folder: Path, hours: int) -> None:
    with pytest.raises(GreymatchError, match="`hours` must divide 24"):
        read(wb1_folder, hours=hours)


def test_fields_are_known_by_name() -> None:
    with pytest.raises(GreymatchError, match="Did you mean 'z850'"):
        fields_named(["z50"])
    with pytest.raises(GreymatchError, match="each field once"):
        fields_named(["t2m", "t2m"])
    assert [name for name, field in FIELDS.items() if field.component and name in FORECAST] == ["u10", "v10"]
