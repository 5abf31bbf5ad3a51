"""Settings with which something is learned within seconds."""

from __future__ import annotations

import pytest

from greymatch.weather.settings import WeatherSettings


@pytest.fixture(scope="session")
def tiny() -> WeatherSettings:
    return WeatherSettings().updated(
        {
            "net.width": 8,
            "net.source_width": 4,
            "net.depth": 1,
            "net.latents": 4,
            "net.heads": 2,
            "net.history": 2,
            "training.batch": 8,
            "training.rate": 1e-2,
            "training.validations": 2,
            "training.precision": "32-true",
            "training.steps": 6,
        }
    )
