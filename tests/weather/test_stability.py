from __future__ import annotations

import numpy as np
import pytest
import torch

from greymatch.weather.archive import Archive
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.stability import STARTS, spread_out, stability

TINY = {"net.width": 4, "net.source_width": 4, "net.depth": 1, "training.precision": "32-true", "transport.substeps": 1}


@pytest.fixture
def model(drifting: Archive) -> WeatherModel:
    return WeatherModel(WeatherNetwork.fitting(WeatherSettings().updated(TINY), drifting))


def test_weather_that_stays_never_leaves_its_range(model: WeatherModel, drifting: Archive) -> None:
    found = stability(model, drifting, drifting, spread_out(drifting.times[4:]), days=2)
    assert found.stable
    assert found.beyond == {"z500": 0, "t2m": 0}
    assert found.starts == STARTS


def test_a_source_that_never_ends_leaves_it_by_what_it_adds(model: WeatherModel, drifting: Archive) -> None:
    """t2m grows by its usual change in each of 8 steps, from the map that holds the highest value."""
    bias = model.network.dynamics.source.leave.conv.bias
    assert bias is not None
    with torch.no_grad():
        bias.copy_(torch.tensor([0.0, 1.0]))
    values = drifting.fields["t2m"].values
    start = drifting.times[[int(values.max((1, 2)).argmax())]]
    found = stability(model, drifting, drifting, start, days=2)
    grown = 8 * float(model.network.change[1]) / float(np.ptp(values))
    assert found.beyond["t2m"] == pytest.approx(grown, rel=1e-3)
    assert found.beyond["z500"] == 0
    assert found.lost == int(grown > 0.5)


def test_a_forecast_that_is_no_number_is_lost(model: WeatherModel, drifting: Archive) -> None:
    with torch.no_grad():
        model.network.dynamics.source.leave.conv.weight.fill_(torch.nan)
    found = stability(model, drifting, drifting, drifting.times[4:6], days=1)
    assert found.lost == 2
    assert "2 left the range" in found.text()
