from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from greymatch.models.memory import Memory
from greymatch.models.network import Network

Build = Callable[..., Network]


def line(times: torch.Tensor, slope: torch.Tensor) -> Memory:
    """A memory (1, H, 2) of motion along straight lines, seen at `times` before its end at 0."""
    values = 0.3 + times[None, :, None] * slope
    return Memory(values, (-times)[None, :, None].expand_as(values).clone(), torch.zeros(1, len(times), 0))


def test_before_it_has_learned_it_names_where_the_last_slope_leads(build: Build):
    net = build(method="tfm").next_point
    slope = torch.tensor([0.2, -0.5])
    memory = line(torch.tensor([-4.0, -2.5, 0.0]), slope)
    named = net(memory.last, torch.zeros(1), torch.tensor([1.7]), memory, torch.zeros(1, 2, 0))
    torch.testing.assert_close(named, 0.3 + 1.7 * slope[None])


def test_a_state_seen_once_is_held(build: Build):
    net = build(method="tfm").next_point
    memory = line(torch.tensor([-2.0, -1.0, 0.0]), torch.tensor([0.2, -0.5]))
    memory.ages[:, :2, 1] = torch.inf
    named = net(memory.last, torch.zeros(1), torch.ones(1), memory, torch.zeros(1, 2, 0))
    torch.testing.assert_close(named, torch.tensor([[0.5, 0.3]]))


@pytest.mark.parametrize("kind", ["mlp", "conv"])
def test_fields_are_named_pixel_by_pixel(build: Build, waves: Callable, kind: str):
    network = build(1, (4, 3), method="tfm", trained=True, residual__kind=kind)
    memory = Memory.unpacked(network.observe(waves(1, (4, 3))).features)
    named = network.next_point(memory.last, torch.zeros(5), torch.ones(5), memory, torch.zeros(5, 2, 0))
    assert named.shape == (5, 2, 4, 3)
    far = Memory(memory.values.clone(), memory.ages, memory.inputs)
    far.values[..., 0, 0] += 1.0
    moved = network.next_point(far.last, torch.zeros(5), torch.ones(5), far, torch.zeros(5, 2, 0)) - named
    # the mlp sees its own pixel alone, the convolution its neighbours too
    assert bool((moved[..., 0, 0] != 0).all())
    assert bool((moved[..., 0, 1] != 0).any()) == (kind == "conv")


def test_no_encoder_and_no_field_is_made(build: Build):
    names = {name.split(".")[0] for name, _ in build(method="tfm").named_parameters()}
    assert names == {"next_point"}
