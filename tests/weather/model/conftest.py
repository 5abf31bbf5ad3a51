"""A tiny network on the shipped sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from greymatch.weather.archive import Archive
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.read import read
from greymatch.weather.settings import WeatherSettings

TINY = {
    "net.width": 8,
    "net.source_width": 8,
    "net.depth": 1,
    "net.latents": 4,
    "net.heads": 2,
    "net.history": 2,
    "training.precision": "32-true",
}
Networks = Callable[..., WeatherNetwork]


@pytest.fixture(scope="session")
def sample() -> Archive:
    return read(Path(__file__).parents[1] / "sample" / "wb1").load()


@pytest.fixture
def network_of(sample: Archive) -> Networks:
    """`network_of(**changes)`: with weights that say something, as after training."""

    def made(loud: float = 0.0, **changes: object) -> WeatherNetwork:
        torch.manual_seed(0)
        settings = WeatherSettings().updated(TINY | {key.replace("__", "."): value for key, value in changes.items()})
        network = WeatherNetwork.fitting(settings, sample)
        if loud:
            if network.settings.method != "climode":
                torch.nn.init.normal_(network.dynamics.outset.weight, std=0.001 * loud)
            for net in (network.dynamics.velocity, network.dynamics.source):
                torch.nn.init.normal_(net.leave.conv.weight, std=loud)
        return network

    return made
