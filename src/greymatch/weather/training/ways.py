"""How each method learns: batches and loss, for the shared loop."""

from __future__ import annotations

from collections.abc import Callable

from greymatch.training.recipe import Recipe
from greymatch.weather.archive import Archive
from greymatch.weather.climode import objective as solving
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.training.objective import Objective
from greymatch.weather.training.sampler import Sampler
from greymatch.weather.training.states import States


def _matching(network: WeatherNetwork, train: Archive) -> Recipe:
    states = States.of(train, network, network.settings.net.history + 2)
    return Recipe(Sampler(network, states), Objective(network))


def _solving(network: WeatherNetwork, train: Archive) -> Recipe:
    given, ahead = network.settings.net.history + 1, network.settings.solving.steps
    states = States.of(train, network, given + ahead)
    return Recipe(solving.Windows(states, given), solving.Objective(network), solves=True)


WAYS: dict[str, Callable[[WeatherNetwork, Archive], Recipe]] = {
    "vgb-dm": _matching,
    "black-box": _matching,
    "climode": _solving,
}
