from __future__ import annotations

import contextlib

import pytest
import torch

from greymatch.training.averaging import EARLY, Averaging, Swapped


def test_the_mean_forgets_the_first_weights_and_then_keeps_its_memory():
    net = torch.nn.Linear(1, 1, bias=False)
    averaging = Averaging(net.state_dict())
    averaged = averaging.first()
    expected = net.weight.item()
    for step in range(1, 200):
        with torch.no_grad():
            net.weight.fill_(step)
        averaging.update(averaged, step, memory=0.9)
        keep = min(0.9, step / (step + EARLY))
        expected = keep * expected + (1 - keep) * step
    assert averaged["weight"].item() == pytest.approx(expected, rel=1e-5)
    assert 199 - expected == pytest.approx(9.0, rel=0.01)  # how far behind a memory of 0.9 is


def test_what_is_not_learned_stays_as_it_is():
    net = torch.nn.Linear(1, 1)
    averaging = Averaging(net.state_dict(), ["weight"])
    averaged = averaging.first()
    with torch.no_grad():
        net.weight.add_(1.0)
        net.bias.add_(1.0)
    averaging.update(averaged, 5, memory=0.9)
    assert averaged["weight"].item() != pytest.approx(net.weight.item() - 1)
    assert averaged["bias"].item() == pytest.approx(net.bias.item() - 1)


def test_swapped_weights_go_back_even_after_an_error():
    net = torch.nn.Linear(2, 2)
    own = {name: value.clone() for name, value in net.state_dict().items()}
    other = {name: value + 1 for name, value in own.items()}
    with contextlib.suppress(RuntimeError), Swapped(net, other):
        assert torch.equal(net.weight, other["weight"])
        raise RuntimeError
    assert torch.equal(net.weight, own["weight"])
