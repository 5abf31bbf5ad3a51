"""Weather: fields on the sphere, from archives or from a simulated atmosphere."""

from __future__ import annotations

from greymatch.weather import references, sphere
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.forecasts import read_forecasts, write_forecasts
from greymatch.weather.labelled import labelled, start_dates
from greymatch.weather.model.model import WeatherModel, load
from greymatch.weather.read import read
from greymatch.weather.scaling import Scaling
from greymatch.weather.scores import evaluate
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.splits import Splits
from greymatch.weather.training.train import train

__all__ = [
    "Archive",
    "Climatology",
    "Scaling",
    "Splits",
    "WeatherModel",
    "WeatherSettings",
    "evaluate",
    "labelled",
    "load",
    "read",
    "read_forecasts",
    "references",
    "sphere",
    "start_dates",
    "train",
    "write_forecasts",
]
