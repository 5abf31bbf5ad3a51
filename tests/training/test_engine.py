from __future__ import annotations

import torch
from torch import nn

from greymatch.settings import TrainingSettings
from greymatch.training.averaging import EARLY
from greymatch.training.bare import Bare
from greymatch.training.engine import Whole, engine

SETTINGS = TrainingSettings(rate=0.1, decay=0.0)


def begun() -> tuple[nn.Linear, Whole]:
    network = nn.Linear(2, 1, bias=False)
    made = engine(network, network, SETTINGS, Bare(torch.device("cpu")), processes=1)
    assert isinstance(made, Whole)
    return network, made


def test_the_first_step_of_adam_is_the_rate_against_each_slope() -> None:
    network, whole = begun()
    before = network.weight.detach().clone()
    whole.backward(whole.objective(torch.tensor([[3.0, -4.0]])).sum())
    assert float(whole.clip(torch.inf, strict=True)) == 5.0
    whole.step(1, memory=0.9)
    torch.testing.assert_close(network.weight.detach(), before - torch.tensor([[0.1, -0.1]]))
    keep = 1 / (1 + EARLY)
    torch.testing.assert_close(whole.averaged()["weight"], keep * before + (1 - keep) * network.weight.detach())


def test_gradients_add_up_over_parts_and_not_over_steps() -> None:
    network, whole = begun()
    for _ in range(2):
        whole.forget()
        for part in ([3.0, 0.0], [0.0, -4.0]):
            with whole.unshared(more=part[0] > 0):
                whole.backward(whole.objective(torch.tensor([part])).sum())
    torch.testing.assert_close(network.weight.grad, torch.tensor([[3.0, -4.0]]))


def test_what_is_gathered_is_what_is_learned() -> None:
    network, whole = begun()
    learned = whole.gather()
    assert learned.weights is network
    whole.scatter({"weight": torch.ones(1, 2)})
    assert torch.equal(whole.gather().averaged["weight"], torch.ones(1, 2))
