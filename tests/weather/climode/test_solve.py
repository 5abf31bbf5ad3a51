from __future__ import annotations

import math

import pytest
import torch

from greymatch.weather.archive import Archive
from greymatch.weather.climode.objective import Objective, Windows
from greymatch.weather.climode.solve import solved, start_winds
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.sphere import area_weights
from greymatch.weather.training.states import States

TINY = {
    "net.width": 8,
    "net.source_width": 8,
    "net.depth": 1,
    "training.precision": "32-true",
    "solving.steps": 2,
    "inference.ridge": 0.1,
}


@pytest.fixture
def network(drifting: Archive) -> WeatherNetwork:
    torch.manual_seed(0)
    return WeatherNetwork.fitting(WeatherSettings.suited("climode").updated(TINY), drifting)


@pytest.fixture
def windows(network: WeatherNetwork, drifting: Archive) -> Windows:
    return Windows(States.of(drifting, network, 5), 3)


def test_a_window_is_the_past_and_what_follows_it(windows: Windows) -> None:
    drawn = windows.draw(4, torch.Generator().manual_seed(0))
    values, hours = windows.states.chunk(drawn.rows)
    torch.testing.assert_close(torch.cat([drawn.past, drawn.truth], 1), values)
    torch.testing.assert_close(drawn.began, hours[:, 2])


def test_inferred_winds_alone_carry_a_drift_better_than_none(network: WeatherNetwork, windows: Windows) -> None:
    """Before anything is learned the winds stay what the past says, and the state goes with them."""
    drawn = windows.draw(32, torch.Generator().manual_seed(0))
    with torch.no_grad():
        said = solved(network, drawn.past, drawn.began, 2).mean
    stays = drawn.past[:, -1:].expand_as(drawn.truth)
    ours, none = ((drawn.truth - found).square().mean((0, 2, 3, 4)) for found in (said, stays))
    assert float((ours / none).max()) < 0.8
    assert float(start_winds(network, drawn.past).abs().mean()) > 0.1


def test_the_likelihood_is_that_of_the_normal_law(network: WeatherNetwork, windows: Windows) -> None:
    drawn = windows.draw(8, torch.Generator().manual_seed(0))
    found = Objective(network)(drawn, torch.ones(2), None)
    said = solved(network, drawn.past, drawn.began, 2)
    density = torch.distributions.Normal(said.mean, said.std).log_prob(drawn.truth) + (network.unit * 6).log()
    by_hand = -(density * area_weights(density)).mean((0, 1, 3, 4)).sum().detach()
    assert float(found.likelihood) + math.log(2 * math.pi) == pytest.approx(float(by_hand), rel=1e-4)


def test_gradients_pass_through_the_solver_to_every_weight(network: WeatherNetwork, windows: Windows) -> None:
    for value in network.parameters():
        if value.ndim == 4 and not value.any():  # layers that say nothing at the start
            torch.nn.init.normal_(value, std=0.1)
    loss = Objective(network)(windows.draw(2, torch.Generator().manual_seed(0)), torch.ones(2), None)
    loss.total.backward()
    silent = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()]
    assert [name for name in silent if not name.endswith("key.bias")] == []  # softmax does not see a shift of the keys
