"""WeatherBench 2 from Google's storage, or a mirror of it: the chunks of some variables and years of a Zarr store."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.axes import dates
from greymatch.weather.fetch.download import Item, download
from greymatch.weather.fields import Field
from greymatch.weather.layouts.wb2 import MASK, SURFACE
from greymatch.weather.meter import Meter
from greymatch.weather.splits import Years

NAME = "1959-2022-6h-64x32_equiangular_conservative.zarr"
SERVER = f"https://storage.googleapis.com/weatherbench2/datasets/era5/{NAME}"
_AXES = ("time", "level", "latitude", "longitude")
_METADATA = ".zmetadata"


def fetch(store: Path, fields: Sequence[Field], years: Years, base: str | None, meter: Meter) -> None:
    """Chunks that are there already are left alone; those of other years stay empty."""
    origin = (base or SERVER).rstrip("/")
    download(Item(f"{origin}/{_METADATA}", store / f"{_METADATA}.whole"), meter)
    metadata = _metadata(store / f"{_METADATA}.whole")
    wanted = [*dict.fromkeys(field.long for field in fields), SURFACE, MASK]
    _write_metadata(store, metadata, [*_AXES, *wanted])
    for name in _AXES:
        _fetch_array(origin, store, name, metadata, None, meter)
    span = _span(store, years)
    for name in wanted:
        _fetch_array(origin, store, name, metadata, span, meter)
    (store / f"{_METADATA}.whole").unlink()


def _metadata(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())["metadata"]
    except (ValueError, KeyError, TypeError):
        path.unlink()
        raise GreymatchError("the server has no Zarr store of format 2 with consolidated metadata there.") from None


def _write_metadata(store: Path, metadata: dict[str, Any], names: Sequence[str]) -> None:
    """That of the store with some of its arrays."""
    absent = [name for name in names if f"{name}/.zarray" not in metadata]
    if absent:
        raise GreymatchError(f"the store on the server has no {absent[0]!r}.")
    kept = {key: value for key, value in metadata.items() if "/" not in key or key.split("/")[0] in names}
    for key, value in kept.items():
        (store / key).parent.mkdir(parents=True, exist_ok=True)
        (store / key).write_text(json.dumps(value))
    (store / _METADATA).write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": kept}))


def _fetch_array(
    origin: str, store: Path, name: str, metadata: dict[str, Any], span: range | None, meter: Meter
) -> None:
    for key in _chunks(metadata[f"{name}/.zarray"], metadata[f"{name}/.zattrs"]["_ARRAY_DIMENSIONS"], span):
        download(Item(f"{origin}/{name}/{key}", store / name / key), meter)


def _chunks(array: dict[str, Any], dims: Sequence[str], span: range | None) -> Iterator[str]:
    """Names of the chunks that hold the states in `span`."""
    ranges = [range(math.ceil(size / chunk)) for size, chunk in zip(array["shape"], array["chunks"], strict=True)]
    if span is not None and "time" in dims:
        at = dims.index("time")
        length = array["chunks"][at]
        ranges[at] = range(span.start // length, (span.stop - 1) // length + 1)
    separator = array.get("dimension_separator", ".")
    for place in itertools.product(*ranges):
        yield separator.join(map(str, place)) or "0"


def _span(store: Path, years: Years) -> range:
    with xr.open_dataset(store, engine="zarr", consolidated=True, decode_timedelta=False) as data:
        year = dates(data).year
    inside = [i for i, one in enumerate(year) if years[0] <= one <= years[1]]
    if not inside:
        raise GreymatchError(f"`years` must lie in those of the server, {year.min()} to {year.max()}; got {years}.")
    return range(inside[0], inside[-1] + 1)
