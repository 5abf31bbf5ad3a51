from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.fetch import wb1, wb2
from greymatch.weather.fields import FORECAST, fields_named
from greymatch.weather.meter import Silent
from greymatch.weather.read import read


def zipped(files: list[Path], inside: str = "") -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, inside + file.name)
    return content.getvalue()


@pytest.fixture
def mirror(site, wb1_folder: Path):
    """WeatherBench 1 as a mirror has it."""
    for folder in wb1_folder.iterdir():
        files = sorted(folder.glob("*.nc"))
        if folder.name == "constants":
            site.files["/constants/constants_5.625deg.nc"] = files[0].read_bytes()
        else:
            site.files[f"/{folder.name}/{folder.name}_5.625deg.zip"] = zipped(files)
    return site


def test_weatherbench_1_arrives_unpacked_and_can_be_read(mirror, wb1_folder: Path, tmp_path: Path) -> None:
    mirror.breaks = [3000, 3000]
    wb1.fetch(tmp_path, fields_named(FORECAST), mirror.url, {}, Silent())
    assert not list(tmp_path.rglob("*.zip"))
    for name in FORECAST:
        np.testing.assert_array_equal(read(tmp_path).fields[name].values, read(wb1_folder).fields[name].values)
    asked = len(mirror.asked)
    wb1.fetch(tmp_path, fields_named(FORECAST), mirror.url, {}, Silent())
    assert len(mirror.asked) == asked  # all of it was there


def test_a_damaged_archive_is_deleted_and_fetched_again(mirror, tmp_path: Path) -> None:
    path = "/2m_temperature/2m_temperature_5.625deg.zip"
    whole = mirror.files[path]
    mirror.files[path] = whole[:2000] + bytes(500) + whole[2500:]
    with pytest.raises(GreymatchError, match="arrived damaged"):
        wb1.fetch(tmp_path, fields_named(["t2m"]), mirror.url, {}, Silent())
    mirror.files[path] = whole
    wb1.fetch(tmp_path, fields_named(["t2m"]), mirror.url, {}, Silent())
    assert len(read(tmp_path, fields=["t2m"])) == 280


def test_nothing_lands_outside_the_folder(wb1_folder: Path, tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    file = next((wb1_folder / "2m_temperature").glob("*.nc"))
    (inner / "evil.zip").write_bytes(zipped([file], inside="../../"))
    wb1.unpack(inner / "evil.zip")
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*.nc")] == [Path("a/b") / file.name]


def test_an_archive_without_maps_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("sorry")
    (tmp_path / "empty.zip").write_bytes(zipped([tmp_path / "page.txt"]))
    with pytest.raises(GreymatchError, match="holds no NetCDF file"):
        wb1.unpack(tmp_path / "empty.zip")


def test_addresses_of_the_server() -> None:
    assert wb1.address("geopotential_500", "geopotential_500_5.625deg.zip", None) == (
        "https://dataserv.ub.tum.de/s/m1524895/download?path=%2F5.625deg%2Fgeopotential_500"
        "&files=geopotential_500_5.625deg.zip"
    )
    assert wb2.SERVER.startswith("https://storage.googleapis.com/weatherbench2/datasets/era5/1959-2022-6h-64x32_")


def served(store: Path) -> dict[str, bytes]:
    files = [path for path in store.rglob("*") if path.is_file()]
    return {f"/{path.relative_to(store).as_posix()}": path.read_bytes() for path in files}


@pytest.fixture
def bucket(site, wb2_store: Path):
    site.files = served(wb2_store)
    return site


def test_weatherbench_2_arrives_by_the_chunks_of_the_years_asked(bucket, wb2_store: Path, tmp_path: Path) -> None:
    store = tmp_path / "copy.zarr"
    wb2.fetch(store, fields_named(FORECAST), (2015, 2016), bucket.url, Silent())
    for name in FORECAST:
        np.testing.assert_array_equal(read(store).fields[name].values, read(wb2_store).fields[name].values)
    assert read(store).constants["land"].max() == 1
    asked = len(bucket.asked)
    shutil.rmtree(store / "2m_temperature")
    wb2.fetch(store, fields_named(FORECAST), (2015, 2016), bucket.url, Silent())
    again = [path for path, _ in bucket.asked[asked:]]
    assert {path.split("/")[1] for path in again} == {".zmetadata", "2m_temperature"}


def test_other_years_are_not_downloaded(bucket, wb2_store: Path, tmp_path: Path) -> None:
    data = xr.open_dataset(wb2_store, engine="zarr", chunks=None).drop_encoding()
    finely = {"2m_temperature": {"chunks": (10, 16, 8)}}
    data.to_zarr(tmp_path / "fine.zarr", zarr_format=2, consolidated=True, encoding=finely)
    bucket.files = served(tmp_path / "fine.zarr")
    wb2.fetch(tmp_path / "part.zarr", fields_named(["t2m"]), (2015, 2015), bucket.url, Silent())
    asked = {path for path, _ in bucket.asked if path.startswith("/2m_temperature")}
    assert asked == {"/2m_temperature/0.0.0", "/2m_temperature/1.0.0"}  # 20 states of 2015
    assert len(read(tmp_path / "part.zarr", fields=["t2m"], years=(2015, 2015)).at([0], 20)) == 1


def test_years_and_variables_that_the_server_lacks_are_named(bucket, tmp_path: Path) -> None:
    with pytest.raises(GreymatchError, match="must lie in those of the server, 2015 to 2016"):
        wb2.fetch(tmp_path / "a.zarr", fields_named(["t2m"]), (1980, 1981), bucket.url, Silent())
    with pytest.raises(GreymatchError, match="no 'u_component_of_wind'"):
        wb2.fetch(tmp_path / "b.zarr", fields_named(["u500"]), (2016, 2016), bucket.url, Silent())
