from __future__ import annotations

import sys

import pytest
import torch

from greymatch.settings import TrainingSettings
from greymatch.training.bare import Bare
from greymatch.training.device import fabric, ranks
from greymatch.training.ranks import ALONE


def test_one_process_in_full_precision_needs_no_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)  # to load it would be an error
    machine = fabric(TrainingSettings(device="cpu"))
    assert machine == Bare(torch.device("cpu"))
    assert ranks(machine) is ALONE


def test_a_gradient_is_cut_to_its_limit_and_its_own_norm_told() -> None:
    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    machine = Bare(torch.device("cpu"))
    machine.backward((torch.tensor([3.0, 4.0]) * weight).sum())
    assert float(machine.clip_gradients(None, optimizer, max_norm=1.0, error_if_nonfinite=True)) == 5.0
    torch.testing.assert_close(weight.grad, torch.tensor([0.6, 0.8]), rtol=1e-4, atol=0)
    weight.grad = torch.full((2,), torch.nan)
    with pytest.raises(RuntimeError, match="norm of the gradient is nan"):
        machine.clip_gradients(None, optimizer, max_norm=1.0, error_if_nonfinite=True)
