"""Small archives, written here file by file as WeatherBench has them, so that the reader is checked by other hands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from greymatch.weather.archive import Archive

LAT, LON = np.arange(8) * 22.5 - 78.75, np.arange(16) * 22.5
WB1 = {
    "z500": ("geopotential_500", "geopotential_500hPa", "z"),
    "t850": ("temperature_850", "temperature_850hPa", "t"),
    "t2m": ("2m_temperature", "2m_temperature", "t2m"),
    "u10": ("10m_u_component_of_wind", "10m_u_component_of_wind", "u10"),
    "v10": ("10m_v_component_of_wind", "10m_v_component_of_wind", "v10"),
}
NAMES = tuple(WB1)
Maps = Callable[..., xr.Dataset]


def made(start: str, states: int, hours: int = 6, names: tuple[str, ...] = NAMES) -> xr.Dataset:
    """Fields that tell their time and place: lat + lon / 1000 + 100 * (number of the field) + days since 2000."""
    times = np.datetime64(start, "ns") + np.arange(states) * np.timedelta64(hours, "h")
    days = (times - np.datetime64("2000-01-01", "ns")) / np.timedelta64(1, "D")
    place = LAT[:, None] + LON / 1000
    values = {name: 100 * i + days[:, None, None] + place for i, name in enumerate(names)}
    arrays = {name: (("time", "lat", "lon"), value.astype(np.float32)) for name, value in values.items()}
    return xr.Dataset(arrays, {"time": times, "lat": LAT, "lon": LON})


def constants() -> xr.Dataset:
    height = np.maximum(0, LAT)[:, None] * np.ones(len(LON))
    return xr.Dataset(
        {"orography": (("lat", "lon"), height), "lsm": (("lat", "lon"), np.float64(height > 0))},
        {"lat": LAT, "lon": LON},
    )


def write_wb1(folder: Path, data: xr.Dataset) -> Path:
    for year, part in data.groupby("time.year"):
        for name, (sub, stem, short) in WB1.items():
            (folder / sub).mkdir(parents=True, exist_ok=True)
            one = part[[name]].rename({name: short})
            one.to_netcdf(folder / sub / f"{stem}_{year}_22.5deg.nc", engine="h5netcdf")
    (folder / "constants").mkdir(exist_ok=True)
    constants().to_netcdf(folder / "constants" / "constants_22.5deg.nc", engine="h5netcdf")
    return folder


def write_wb2(store: Path, data: xr.Dataset) -> Path:
    """North to south, longitude first, levels as an axis."""

    def levels(name: str, kept: int) -> xr.DataArray:
        return xr.concat([data[name], data[name] * np.nan], xr.DataArray([kept, 1000], dims="level", name="level"))

    z, t = levels("z500", 500), levels("t850", 850)
    still = constants()
    named = {"2m_temperature": data["t2m"], "10m_u_component_of_wind": data["u10"]}
    named |= {"10m_v_component_of_wind": data["v10"], "land_sea_mask": still["lsm"]}
    named |= {"geopotential_at_surface": still["orography"] * 9.80665}
    whole = xr.Dataset(named).assign(geopotential=z.reindex(level=[500, 850, 1000]))
    whole = whole.assign(temperature=t.reindex(level=[500, 850, 1000])).sortby("lat", ascending=False)
    whole = whole.rename(lat="latitude", lon="longitude").transpose("time", "level", "longitude", "latitude")
    whole.drop_encoding().to_zarr(store, zarr_format=2, consolidated=True)
    return store


@pytest.fixture(scope="session")
def maps() -> Maps:
    return made


@pytest.fixture
def wb1_writer() -> Callable[[Path, xr.Dataset], Path]:
    return write_wb1


@pytest.fixture(scope="session")
def wb1_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hourly, from 27 December 2015 to 5 March 2016."""
    return write_wb1(tmp_path_factory.mktemp("wb1"), made("2015-12-27", 24 * 70, hours=1))


@pytest.fixture(scope="session")
def wb2_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same every six hours."""
    return write_wb2(tmp_path_factory.mktemp("wb2") / "era5.zarr", made("2015-12-27", 4 * 70))


@pytest.fixture(scope="session")
def archive_of() -> Callable[..., Archive]:
    """`archive_of(values, start, names)`: an archive in memory from values (time, field, lat, lon)."""
    return _archive_of


def _archive_of(values: np.ndarray, start: str = "2010-01-01", names: tuple[str, ...] = ("z500", "t2m")) -> Archive:
    count, _, rows, columns = values.shape
    axes = {
        "time": np.datetime64(start, "ns") + np.arange(count) * np.timedelta64(6, "h"),
        "lat": (np.arange(rows) + 0.5) * 180 / rows - 90,
        "lon": np.arange(columns) * 360 / columns,
    }
    arrays = {name: (("time", "lat", "lon"), values[:, i].astype(np.float32)) for i, name in enumerate(names)}
    return Archive(xr.Dataset(arrays, axes), xr.Dataset())


@pytest.fixture(scope="session")
def two_years(archive_of: Callable[..., Archive]) -> Archive:
    """2010 and 2011: noise about a season and a day, 4 x 8 points."""
    rng = np.random.default_rng(1)
    hours = np.arange(2 * 365 * 4) * 6.0
    usual = 10 * np.cos(2 * np.pi * hours / (365 * 24)) + 3 * np.cos(2 * np.pi * hours / 24)
    return archive_of(usual[:, None, None, None] + rng.normal(size=(len(hours), 2, 4, 8)))


@pytest.fixture(scope="session")
def drifting(archive_of: Callable[..., Archive]) -> Archive:
    """The last days of 2015 and the first of 2016: waves on the sphere that go round in 8 days."""
    count, lat = 240, (np.arange(len(LAT)) + 0.5) * np.pi / len(LAT) - np.pi / 2
    lon, time = np.arange(len(LON)) * 2 * np.pi / len(LON), np.arange(count)[:, None, None]
    rng, parts = np.random.default_rng(0), []
    for _ in range(2):
        waves = [
            (1 + 0.5 * np.sin(2 * np.pi * time * rng.uniform(0.01, 0.03)))
            * np.cos(lat)[:, None] ** k
            * np.cos(k * (lon - 2 * np.pi * time / 32) + rng.uniform(0, 6))
            for k in (1, 2, 3)
        ]
        parts.append(sum(waves))
    archive = archive_of(np.stack(parts, 1) * [[[[100.0]], [[3.0]]]] + 280, start="2015-12-01")
    axes = {"lat": archive.fields["lat"], "lon": archive.fields["lon"]}
    flat = {name: (("lat", "lon"), np.zeros((len(LAT), len(LON)))) for name in ("orography", "land")}
    return replace(archive, still=xr.Dataset(flat, axes))
