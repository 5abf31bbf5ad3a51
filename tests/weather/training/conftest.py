"""Three small years in which a pattern drifts to the east: something to learn within seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from greymatch.weather.archive import Archive
from greymatch.weather.settings import WeatherSettings

ROWS, COLUMNS = 8, 16


@pytest.fixture(scope="session")
def drifting(archive_of: Callable[..., Archive]) -> Archive:
    """The last days of 2015 and the first of 2016: waves on the sphere that go round in 8 days."""
    count, lat = 240, (np.arange(ROWS) + 0.5) * np.pi / ROWS - np.pi / 2
    lon, time = np.arange(COLUMNS) * 2 * np.pi / COLUMNS, np.arange(count)[:, None, None]
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
    flat = {name: (("lat", "lon"), np.zeros((ROWS, COLUMNS))) for name in ("orography", "land")}
    return replace(archive, still=xr.Dataset(flat, axes))


@pytest.fixture(scope="session")
def tiny() -> WeatherSettings:
    return WeatherSettings().updated(
        {
            "net.width": 8,
            "net.source_width": 4,
            "net.depth": 1,
            "net.latents": 4,
            "net.heads": 2,
            "training.batch": 8,
            "training.rate": 1e-2,
            "training.validations": 2,
            "training.precision": "32-true",
            "training.steps": 6,
        }
    )
