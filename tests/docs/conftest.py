"""What lets the examples of the documentation run in seconds: little data, small nets, few steps and draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import greymatch
from greymatch.data.store import Store
from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.physics.physics import Physics
from greymatch.systems.system import System
from greymatch.training.fit import fit, suited
from greymatch.training.run import fingerprint
from greymatch.weather.archive import Archive
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.read import read
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.training.train import train

MOST_STEPS, MOST_TRAJECTORIES, MOST_POINTS, MOST_DRAWS = 4, 12, 60, 20
SMALL = {"training.validations": 1, "training.batch": 32, "encoder.width": 16, "residual.width": 16}


SMALL_WEATHER = {"net.width": 4, "net.source_width": 4, "training.batch": 4, "training.validations": 1}


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch, roughly: None, tmp_path: Path, atmosphere: Path) -> None:
    """An empty folder, in which everything is small."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "atmosphere").symlink_to(atmosphere)
    monkeypatch.setattr(greymatch, "fit", _fit)
    monkeypatch.setattr(greymatch.weather, "train", _train)
    monkeypatch.setattr(greymatch.weather, "read", _read)
    monkeypatch.setattr(System, "data", _data)
    monkeypatch.setattr(GreyBox, "forecast", _fewer_draws(GreyBox.forecast))


def _fit(physics: Physics, data: Trajectories | Store, **asked: Any) -> GreyBox:
    """`fit` with a small budget; pages that fit the same share it, unless they ask for files or trackers."""
    settings = (asked.pop("settings", None) or suited(physics, data)).updated(SMALL)
    asked |= {"steps": min(asked.get("steps") or MOST_STEPS, MOST_STEPS), "minutes": None, "quiet": True}
    if isinstance(data, Store) or asked.keys() & {"folder", "trackers", "validation"}:
        return fit(physics, data, settings=settings, **asked)
    key = f"{physics.describe()} {fingerprint(data)} {settings} {asked}"
    if key not in _fitted:
        _fitted[key] = fit(physics, data, settings=settings, **asked)
    return GreyBox(physics, _fitted[key].network, _fitted[key].record)


def _read(*asked: Any, **more: Any) -> Archive:
    """`read`, at once: of maps as small as these, to open files again and again takes most of the time."""
    return read(*asked, **more).load()


def _train(archive: Archive, **asked: Any) -> WeatherModel:
    """`train` of a small net for a few steps."""
    settings = (asked.pop("settings", None) or WeatherSettings()).updated(SMALL_WEATHER)
    return train(archive, **asked | {"settings": settings, "steps": 3, "minutes": None, "quiet": True})


def _data(self: System, split: str, seed: int | None = None, trajectories: int | None = None) -> Trajectories:
    count, points = min(trajectories or MOST_TRAJECTORIES, MOST_TRAJECTORIES), len(self.splits[split].times)
    key = (self.name, split, seed, count)
    if key not in _recorded:
        _recorded[key] = _simulate(self, split, seed, count, min(points, MOST_POINTS))
    return _recorded[key]


_simulate = System.data
_recorded: dict[tuple[object, ...], Trajectories] = {}
_fitted: dict[str, GreyBox] = {}


def _fewer_draws(forecast: Callable[..., Any]) -> Callable[..., Any]:
    def fewer(self: GreyBox, history: Trajectories, times: Any, draws: int = 100, **more: Any) -> Any:
        return forecast(self, history, times, draws=min(draws, MOST_DRAWS), **more)

    return fewer
