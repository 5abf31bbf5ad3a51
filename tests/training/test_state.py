from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from greymatch.errors import GreymatchError
from greymatch.files import write_tensors
from greymatch.training.noise import RunningMean
from greymatch.training.state import Learned, RunState, load_state, save_state

Run = tuple[RunState, Learned, torch.Generator]


def fresh(seed: int) -> Run:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, fused=True)
    state = RunState(
        noise=RunningMean.starting(torch.rand(2), 0.98),
        gradient=RunningMean.starting(torch.rand(()), 0.99),
    )
    averaged = {name: value.clone() for name, value in net.state_dict().items()}
    return state, Learned(net, optimizer, averaged), torch.Generator().manual_seed(seed)


def step(run: Run) -> None:
    state, (net, optimizer, _), generator = run
    loss = net(torch.randn(5, 3, generator=generator)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state.noise = state.noise.updated(loss.detach().expand(2))
    state.gradient = state.gradient.updated(loss.detach())
    state.step += 1


def test_a_run_goes_on_from_its_file_as_if_nothing_had_happened(tmp_path: Path, seed: int):
    one, two = fresh(1), fresh(2)
    for _ in range(5):
        step(one)
    one[0].validation, one[0].best, one[0].best_step, one[0].elapsed = 0.1 + 0.2, 1 / 3, 4, 12.5
    save_state(tmp_path / "a.safetensors", *one)
    averaged = load_state(tmp_path / "a.safetensors", *two)
    assert two[0].numbers() == one[0].numbers()
    for _ in range(5):
        step(one)
        step(two)
    for mine, its in zip(one[1].weights.parameters(), two[1].weights.parameters(), strict=True):
        assert torch.equal(mine, its)
    assert torch.equal(one[0].noise.value, two[0].noise.value)
    assert torch.equal(one[2].get_state(), two[2].get_state())
    assert all(torch.equal(value, averaged[name]) for name, value in one[1].averaged.items())


def test_a_run_without_a_validation_yet_comes_back_so(tmp_path: Path, seed: int):
    one, two = fresh(1), fresh(2)
    two[0].validation, two[0].best = 3.0, 3.0
    save_state(tmp_path / "a.safetensors", *one)
    load_state(tmp_path / "a.safetensors", *two)
    assert two[0].validation is None
    assert math.isinf(two[0].best)


def test_saving_does_not_disturb_the_run(tmp_path: Path, seed: int):
    one, two = fresh(1), fresh(1)
    for _ in range(3):
        step(one)
        step(two)
        save_state(tmp_path / "a.safetensors", *one)
    assert all(torch.equal(a, b) for a, b in zip(one[1].weights.parameters(), two[1].weights.parameters(), strict=True))


def test_another_kind_of_file_is_refused(tmp_path: Path, seed: int):
    write_tensors(tmp_path / "a.safetensors", {"a": torch.ones(1)}, {"kind": "greybox"})
    with pytest.raises(GreymatchError, match="is not the state of a run"):
        load_state(tmp_path / "a.safetensors", *fresh(1))
