from __future__ import annotations

import torch

from greymatch.weather.archive import Archive
from greymatch.weather.model.outset import Outset
from greymatch.weather.model.rollout import roll_out
from greymatch.weather.sphere import area_weights
from greymatch.weather.training.recalling import recalled
from greymatch.weather.training.sampler import Sampler
from greymatch.weather.training.setting_out import set_out
from greymatch.weather.training.states import States


def test_least_squares_find_the_law_of_each_row(seed: int) -> None:
    outset = Outset(fields=2, rows=8, history=1, known=None)
    law = torch.randn(2, outset.weight.shape[1], 8)
    batches = [torch.randn(4, law.shape[1], 8, 16) for _ in range(3)]
    outset.fit((told, torch.einsum("brhw,krh->bkhw", told, law)) for told in batches)
    torch.testing.assert_close(outset.weight, law, rtol=0.01, atol=0.01)


def test_a_network_that_sets_out_beats_persistence_before_it_learns(network_of, sample: Archive) -> None:
    network = network_of()
    set_out(network, Sampler(network, States.of(sample, network, 4)))
    states = States.of(sample, network, 4)
    values, hours = states.chunk(states.starts)
    found = roll_out(network, values[:, :3], hours[:, 2], 1)[:, 0]
    wrong, still = (
        (one.square() * area_weights(one)).mean((0, 2, 3))
        for one in (found - values[:, 3], values[:, 2] - values[:, 3])
    )
    assert bool((wrong < still).all())


def test_what_pasts_say_is_the_same_found_along_the_years(network_of, sample: Archive) -> None:
    network = network_of()
    torch.nn.init.normal_(network.dynamics.outset.weight)
    states = States.of(sample, network, 4)
    values, _ = states.chunk(states.starts)
    each = network.dynamics.recalled(values[:, :3], network.unit)
    wrong = recalled(network, states)[states.starts] - each
    assert float(wrong.abs().max() / each.abs().max()) < 1e-5


def test_an_unknown_past_says_nothing(network_of, sample: Archive) -> None:
    network = network_of()
    torch.nn.init.normal_(network.dynamics.outset.weight)
    state = network.scaling.apply(sample.at([0], 1).values)
    assert float(network.dynamics.recalled(state.expand(-1, 3, -1, -1, -1), network.unit).abs().max()) == 0
