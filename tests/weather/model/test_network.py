from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.clock import Clock
from greymatch.weather.model.model import WeatherModel, load
from greymatch.weather.model.net import Net, possible_halvings
from greymatch.weather.model.rollout import roll_out
from greymatch.weather.model.surroundings import Surroundings


def states(network, archive: Archive) -> tuple[torch.Tensor, torch.Tensor]:
    """Three states in a row from two starts, in units of spread, and the hours of the last."""
    chunk = archive.at([0, 4], 3)
    return network.scaling.apply(chunk.values), torch.from_numpy(chunk.clock.hours[:, -1])


def test_a_net_turns_with_the_globe() -> None:
    torch.manual_seed(0)
    net = Net(torch.tensor([1.0, -1.0]), 3, 8, 2, halvings=1)
    torch.nn.init.normal_(net.leave.conv.weight)
    maps = torch.randn(1, 2, 8, 16)
    torch.testing.assert_close(net(maps.roll(4, -1)), net(maps).roll(4, -1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("grid", "found"), [((32, 64), 2), ((4, 8), 0), ((8, 16), 1), ((30, 60), 1)])
def test_grids_are_halved_only_where_they_can_be(grid: tuple[int, int], found: int) -> None:
    assert possible_halvings(2, *grid) == found


def test_hour_season_and_place_are_all_told_apart() -> None:
    around = Surroundings(torch.zeros(8, 16), torch.zeros(8, 16))
    times = np.array(["2016-01-01T00", "2016-01-01T12", "2016-07-01T00", "2017-01-01T00"], dtype="datetime64[ns]")
    day, noon, summer, next_year = around(torch.from_numpy(Clock.of(times).hours), torch.zeros(4))
    assert float((day - noon).abs().max()) > 1
    assert float((day - summer).abs().max()) > 1
    assert float((day - next_year).abs().max()) < 0.05
    # noon comes to 180 degrees east when it is midnight at 0
    torch.testing.assert_close(day[6, :, 8], noon[6, :, 0], rtol=0, atol=1e-5)


def test_it_begins_by_saying_that_nothing_changes(network_of, sample: Archive) -> None:
    network = network_of()
    given, hours = states(network, sample)
    torch.testing.assert_close(roll_out(network, given, hours, 2), given[:, -1:].expand(-1, 2, -1, -1, -1))


def test_the_past_the_hour_and_the_state_all_matter(network_of, sample: Archive) -> None:
    network = network_of(loud=0.5)
    given, hours = states(network, sample)
    rate = network.rate(hours, given[:, -1], given, hours).total
    other_past = network.rate(hours, given[:, -1], given.flip(1), hours).total
    other_hour = network.rate(hours + 12, given[:, -1], given, hours + 12).total
    assert not torch.allclose(rate, other_past)
    assert not torch.allclose(rate, other_hour)


def test_a_rate_has_the_whole_gradient_of_its_state(network_of, sample: Archive) -> None:
    network = network_of(loud=0.5)
    given, hours = states(network, sample)
    state, aim = given[:, -1].clone().requires_grad_(), torch.randn_like(given[:, -1])
    (found,) = torch.autograd.grad(network.rate(hours, state, given, hours).total, state, aim)
    exact, state = network.double(), state.detach().double().requires_grad_()
    rate = exact.rate(hours, state, given.double(), hours).total
    (right,) = torch.autograd.grad(rate, state, aim.double())
    torch.testing.assert_close(found.double(), right, rtol=1e-3, atol=1e-3 * float(right.abs().max()))


def test_forecasts_do_not_depend_on_what_they_are_made_with(network_of, sample: Archive) -> None:
    network = network_of(loud=0.5)
    given, hours = states(network, sample)
    both, one = roll_out(network, given, hours, 2), roll_out(network, given[1:], hours[1:], 2)
    torch.testing.assert_close(both[1:], one, rtol=1e-4, atol=1e-4)


def test_the_black_box_is_of_the_same_size_and_carries_nothing(network_of, sample: Archive) -> None:
    ours, black = network_of(), network_of(loud=0.5, method="black-box")
    sizes = [sum(p.numel() for p in one.parameters()) for one in (ours, black)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)
    given, hours = states(black, sample)
    assert black.rate(hours, given[:, -1], given, hours).east is None


def test_a_saved_model_forecasts_the_same(network_of, sample: Archive, tmp_path: Path) -> None:
    model = WeatherModel(network_of(loud=0.5), {"steps": 3})
    again = load(model.save(tmp_path / "model.safetensors"))
    starts = sample.times[2:4]
    one, other = (known.predictor(sample, [6, 12])(starts) for known in (model, again))
    assert one.equals(other)
    assert again.record == {"steps": 3}
    assert one["z500"].dims == ("time", "lead", "lat", "lon")


def test_where_the_past_is_missing_the_start_stands_for_it(network_of, sample: Archive) -> None:
    model = WeatherModel(network_of(loud=0.5))
    found = model.predictor(sample, [6])(sample.times[:1])
    network = model.network
    given = network.scaling.apply(sample.at([0], 1).values).expand(-1, 3, -1, -1, -1)
    hours = torch.from_numpy(Clock.of(sample.times[:1]).hours)
    expected = network.scaling.undo(roll_out(network, given, hours, 1))[0, 0]
    np.testing.assert_allclose(found["t850"].values[0, 0], expected[1].numpy(), rtol=1e-6)


@pytest.mark.parametrize("leads", [[], [3], [6, 13]])
def test_leads_between_steps_are_refused(network_of, sample: Archive, leads: list[int]) -> None:
    with pytest.raises(GreymatchError, match="multiples of the step, 6 hours"):
        WeatherModel(network_of()).predictor(sample, leads)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    from greymatch.files import write_tensors

    write_tensors(tmp_path / "a.safetensors", {}, {"kind": "greybox", "format": 5})
    with pytest.raises(GreymatchError, match="must hold a weather model of format 3; it holds a 'greybox'"):
        load(tmp_path / "a.safetensors")


def test_a_forecast_is_held_where_each_row_has_never_been(network_of, sample: Archive) -> None:
    network = network_of()
    given, hours = states(network, sample)
    torch.testing.assert_close(network.fenced(given), given)  # what was seen passes
    with torch.no_grad():
        network.dynamics.source.leave.conv.bias.fill_(1e3)
    found = network.scaling.undo(roll_out(network, given, hours, 2))
    for place, name in enumerate(sample.names):
        seen = sample.fields[name]
        low, high = (part(("time", "lon")).values for part in (seen.min, seen.max))
        fence = (high + 0.25 * (high - low))[:, None] + np.zeros(found.shape[-1])
        np.testing.assert_allclose(found[0, -1, place], fence, rtol=1e-4)
