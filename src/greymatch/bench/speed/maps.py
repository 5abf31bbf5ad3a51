"""Maps of nothing, laid out as those of an archive, for measuring what does not depend on the weather."""

from __future__ import annotations

import numpy as np
import xarray as xr

from greymatch.weather.archive import Archive

STATES, LATITUDES, LONGITUDES = 24, 32, 64
MIDDLES = {"z500": 5.4e4, "t850": 275.0, "t2m": 280.0, "u10": 0.0, "v10": 0.0}


def random_maps() -> Archive:
    """White noise on the grid of WeatherBench."""
    rng, size = np.random.default_rng(0), (STATES, LATITUDES, LONGITUDES)
    step = 180 / LATITUDES
    axes = {
        "time": np.datetime64("2006-01-01", "ns") + np.arange(STATES) * np.timedelta64(6, "h"),
        "lat": step * (np.arange(LATITUDES) + 0.5) - 90,
        "lon": step * np.arange(LONGITUDES),
    }
    fields = {
        name: (("time", "lat", "lon"), (middle + rng.normal(size=size)).astype(np.float32))
        for name, middle in MIDDLES.items()
    }
    places = {name: axes[name] for name in ("lat", "lon")}
    flat = {name: (("lat", "lon"), np.zeros(size[1:], np.float32)) for name in ("orography", "land")}
    return Archive(xr.Dataset(fields, axes), xr.Dataset(flat, places))
