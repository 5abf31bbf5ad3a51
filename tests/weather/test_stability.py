from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from greymatch.weather.archive import Archive
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.stability import STARTS, spread_out, stability

TINY = {
    "net.width": 4,
    "net.source_width": 4,
    "net.depth": 1,
    "net.history": 2,
    "training.precision": "32-true",
    "transport.substeps": 1,
}


@pytest.fixture
def model(drifting: Archive) -> WeatherModel:
    return WeatherModel(WeatherNetwork.fitting(WeatherSettings().updated(TINY), drifting))


def test_weather_that_stays_never_leaves_its_range(model: WeatherModel, drifting: Archive) -> None:
    found = stability(model, drifting, drifting, spread_out(drifting.times[4:]), days=2)
    assert found.stable
    assert found.beyond == {"z500": 0, "t2m": 0}
    assert found.starts == STARTS


def test_what_leaves_a_range_that_was_narrower_is_told(model: WeatherModel, drifting: Archive) -> None:
    """Against the range of a part in which t2m was held to its middle third."""
    values = drifting.fields["t2m"]
    low, high = float(values.min()), float(values.max())
    third = (high - low) / 3
    narrow = replace(drifting, fields=drifting.fields.assign(t2m=values.clip(low + third, high - third)))
    start = drifting.times[[int(values.values.max((1, 2)).argmax())]]
    found = stability(model, drifting, narrow, start, days=1)
    assert found.beyond["t2m"] == pytest.approx(1, rel=1e-3)
    assert found.beyond["z500"] == 0
    assert found.lost == 1


def test_a_forecast_that_is_no_number_is_lost(model: WeatherModel, drifting: Archive) -> None:
    with torch.no_grad():
        model.network.dynamics.source.leave.conv.weight.fill_(torch.nan)
    found = stability(model, drifting, drifting, drifting.times[4:6], days=1)
    assert found.lost == 2
    assert "2 left the range" in found.text()
