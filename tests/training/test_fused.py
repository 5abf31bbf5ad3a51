from __future__ import annotations

import torch
from torch import nn

from greymatch.training.fused import Fused


def made(seed: int) -> tuple[nn.Module, torch.optim.AdamW]:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 5), nn.SiLU(), nn.Linear(5, 2))
    return net, torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.1, fused=True)


def test_weights_move_and_are_remembered_as_by_the_optimiser_itself(seed: int) -> None:
    (net, plain), (other, under) = made(seed), made(seed)
    fused, points = Fused(under), torch.randn(7, 3)
    for number in range(6):
        for each, optimizer in ((net, plain), (other, fused)):
            each.zero_grad()
            each(points).square().sum().backward()
            for place, weight in enumerate(each.parameters()):
                if place < 2 and number in (0, 4):  # as weights that are held at first, or are of no use later
                    weight.grad = None
            optimizer.param_groups[0]["lr"] = 0.01 / (1 + number)
            optimizer.step()
    for weight, same in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(weight, same)
        assert all(torch.equal(plain.state[weight][slot], under.state[same][slot]) for slot in plain.state[weight])
