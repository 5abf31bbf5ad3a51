"""The example of a model that starts from another: its physics is right, and it runs."""

from __future__ import annotations

import json
import runpy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import greymatch as gm
from greymatch.systems.system import System

FILE = Path(__file__).parents[2] / "examples" / "double_pendulum.py"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(FILE))


def test_without_friction_energy_is_kept(example: dict[str, Any]):
    frictionless = gm.Physics(example["swing"], example["ARMS"], {"omega": 2.0}, order=2)
    start = torch.tensor([[1.0, -0.4, 0.0, 0.0], [0.3, 0.9, 0.5, -0.2]], dtype=torch.float64)
    times = torch.linspace(0, 5, 51, dtype=torch.float64)
    phase = example["simulate"](frictionless, start, times, torch.full((2, 1), 2.0).double(), substeps=8)
    upper, lower, fast, slow = phase.unbind(2)
    moving = fast**2 + 0.5 * slow**2 + fast * slow * torch.cos(upper - lower)
    energy = moving - 4.0 * (2 * torch.cos(upper) + torch.cos(lower))
    torch.testing.assert_close(energy, energy[:, :1].expand_as(energy), rtol=1e-6, atol=1e-6)


def test_the_gain_is_written(example: dict[str, Any], tmp_path: Path):
    found = {25: {"at random": [0.2, 0.9], "single pendulum": [0.1, 0.6]}}
    example["write"](found, 3, tmp_path)
    assert "| 25 | 2.00e-01 | 1.00e-01 | 2.0 | 0.900, 0.600 |" in (tmp_path / "double-pendulum.md").read_text()
    assert json.loads((tmp_path / "double-pendulum.json").read_text())["seeds"] == 3


@pytest.mark.usefixtures("roughly")
def test_it_runs_and_compares_both_starts(
    example: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    settings = example["settings"]().updated({"encoder.width": 16, "residual.width": 16})
    quick = partial(example["simulate"], substeps=4)
    changes = {"settings": lambda: settings, "TIMES": example["TIMES"][:51], "simulate": quick}
    for name, value in changes.items():
        monkeypatch.setitem(example["main"].__globals__, name, value)
    recorded = System.data
    monkeypatch.setattr(System, "data", lambda self, split: recorded(self, split, trajectories=12, points=51))
    found = example["main"](budgets=(2,), seeds=1, trajectories=12, single_steps=2)
    assert set(found[2]) == {"at random", "single pendulum"}
    assert "single pendulum" in capsys.readouterr().out
