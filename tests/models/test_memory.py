from __future__ import annotations

import math
from collections.abc import Callable

import torch

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.models.memory import Memory
from greymatch.models.network import Network

Build = Callable[..., Network]
NAN, INF = math.nan, math.inf


def window(times: list[list[float]], values: list, inputs: torch.Tensor | None = None) -> Window:
    array = torch.tensor(values, dtype=torch.float64)
    return Window(torch.tensor(times, dtype=torch.float64), array.nan_to_num(0.0), array.isfinite(), inputs)


def scales(states: int = 1, inputs: int = 0, center: float = 0.0, spread: float = 1.0, step: float = 1.0) -> Scales:
    one = torch.ones(states)
    clock = torch.tensor(step), torch.zeros(()), torch.ones(())
    drive = torch.full((inputs,), 5.0), torch.full((inputs,), 2.0)
    return Scales(center * one, spread * one, one, one, *drive, *clock)


def test_each_state_is_remembered_by_its_own_last_observations():
    seen = window([[0.0, 1.0, 2.0, 4.0, 5.0]], [[[1.0, 10.0], [2.0, 20.0], [NAN, 30.0], [4.0, NAN], [NAN, 50.0]]])
    memory = Memory.of(seen, 3, scales(2))
    assert memory.values[0].T.tolist() == [[1.0, 2.0, 4.0], [20.0, 30.0, 50.0]]
    assert memory.ages[0].T.tolist() == [[5.0, 4.0, 1.0], [4.0, 3.0, 0.0]]
    assert memory.last.tolist() == [[4.0, 50.0]]


def test_observations_that_are_not_there_have_no_age():
    seen = window([[0.0, 1.0, 2.0]], [[[NAN], [7.0], [8.0]]])
    memory = Memory.of(seen, 5, scales())
    assert memory.ages[0, :, 0].tolist() == [INF, INF, INF, 1.0, 0.0]
    assert memory.values[0, :, 0].tolist() == [0.0, 0.0, 0.0, 7.0, 8.0]


def test_values_times_and_inputs_are_in_the_units_of_the_data():
    drive = torch.tensor([[[5.0], [7.0], [9.0]]], dtype=torch.float64)
    seen = window([[10.0, 10.5, 11.5]], [[[1.0], [3.0], [5.0]]], drive)
    memory = Memory.of(seen, 2, scales(1, 1, center=1.0, spread=2.0, step=0.5))
    assert memory.values[0, :, 0].tolist() == [1.0, 2.0]
    assert memory.ages[0, :, 0].tolist() == [2.0, 0.0]
    assert memory.inputs[0, :, 0].tolist() == [1.0, 2.0]


def test_a_shifted_memory_forgets_the_oldest_and_ages():
    memory = Memory.of(window([[0.0, 1.0, 2.0]], [[[NAN], [7.0], [8.0]]]), 3, scales())
    later = memory.shifted(torch.tensor([[9.0]]), torch.tensor([0.5]), torch.zeros(1, 0))
    assert later.values[0, :, 0].tolist() == [7.0, 8.0, 9.0]
    assert later.ages[0, :, 0].tolist() == [1.5, 0.5, 0.0]
    again = later.shifted(torch.tensor([[10.0]]), torch.tensor([2.0]), torch.zeros(1, 0))
    assert again.ages[0, :, 0].tolist() == [2.5, 2.0, 0.0]


def test_what_was_never_seen_stays_so_when_the_memory_shifts():
    memory = Memory.of(window([[0.0, 1.0]], [[[NAN], [7.0]]]), 4, scales())
    later = memory.shifted(torch.tensor([[9.0]]), torch.tensor([1.0]), torch.zeros(1, 0))
    assert later.ages[0, :, 0].tolist() == [INF, INF, 1.0, 0.0]


def test_a_shifted_memory_is_that_of_a_later_window(build: Build, waves: Callable):
    network, data = build(method="tfm"), waves(1, ())
    early, late = (
        Memory.of(
            Window(data.times[:, i : i + 4], data.values[:, i : i + 4], data.mask[:, i : i + 4], None),
            3,
            network.scales,
        )
        for i in (0, 1)
    )
    shifted = early.shifted(late.last, torch.ones(len(data)), torch.zeros(len(data), 0))
    torch.testing.assert_close(shifted.values, late.values)
    torch.testing.assert_close(shifted.ages, late.ages, rtol=0, atol=1e-5)


def test_features_hold_the_memory_and_give_it_back():
    drive = torch.tensor([[[5.0], [7.0]]], dtype=torch.float64)
    for values in ([[[NAN, 1.0], [2.0, 3.0]]], [[[[NAN, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, NAN]]]]):
        memory = Memory.of(window([[0.0, 1.0]], values, drive), 3, scales(2, 1))
        features = memory.features()
        assert bool(features.sequence.isfinite().all())
        back = Memory.unpacked(features)
        for name in ("values", "ages", "inputs"):
            assert torch.equal(getattr(back, name), getattr(memory, name))


def test_draws_share_one_memory(build: Build, waves: Callable):
    network, data = build(method="tfm"), waves(1, ())
    network.noise.fill_(0.1)
    members = network.draw(network.observe(data), 4, torch.Generator().manual_seed(0))
    assert members.kick.shape == (4 * len(data), 2)
    assert members.memory is not None
    assert len(members.memory) == len(data)
    chosen = torch.tensor([2, len(data) + 2, 3 * len(data) + 1])
    picked = members.select(chosen).recalled()
    assert torch.equal(picked.values, members.recalled().values[chosen])
    assert torch.equal(picked.values[0], picked.values[1])
