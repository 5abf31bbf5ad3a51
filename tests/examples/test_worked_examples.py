"""The worked examples: their truth is what they say, their files are read back, they end in a table and a figure."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import greymatch as gm
from greymatch.simulation.simulate import simulate

EXAMPLES = Path(__file__).parents[2] / "examples"
FEW = {"predator_prey": {"sites": 6}, "spring_friction": {"runs": 6}, "spreading_front": {"cases": 6}}

NET_ALONE = {"residual.products": 0, "encoder.refine": False, "encoder.width": 16, "residual.width": 16}


@pytest.fixture(params=FEW)
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = importlib.import_module(request.param)
    monkeypatch.setattr(found, "simulate", partial(simulate, substeps=4))
    return found


def _missing(physics: gm.Physics, truth: gm.Physics, phase: torch.Tensor, theta: dict[str, float]) -> torch.Tensor:
    """What the truth adds to the known part at some points."""
    clock, u = torch.zeros(len(phase)), torch.zeros(len(phase), len(physics.inputs)) if physics.inputs else None
    values = [torch.tensor([[theta[name] for name in one.params]]).expand(len(phase), -1) for one in (physics, truth)]
    return truth.evaluate(clock, phase, values[1], u) - physics.evaluate(clock, phase, values[0], u)


def test_lynxes_and_hares_rest_where_crowding_lets_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = importlib.import_module("predator_prey")
    hares, attack, crowding = 0.5 / 0.6, 1.0, 0.2
    rest = torch.tensor([[hares, (1 - crowding * hares) / attack]])
    theta = torch.tensor([[attack, 0.5, crowding]])
    torch.testing.assert_close(found.TRUTH.evaluate(torch.zeros(1), rest, theta), torch.zeros(1, 2), atol=1e-6, rtol=0)


def test_friction_only_brakes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = importlib.import_module("spring_friction")
    speed = torch.linspace(-2, 2, 9)
    phase = torch.stack([torch.ones(9), speed], 1)
    braking = _missing(found.PHYSICS, found.TRUTH, phase, {"stiffness": 4.0, "oil": 0.2, "dry": 0.3})[:, 0]
    assert bool((braking * speed <= 0).all())


def test_nothing_grows_where_it_is_empty_or_full(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = importlib.import_module("spreading_front")
    phase = torch.stack([torch.full((1, found.POINTS), level) for level in (0.0, 0.5, 1.0)])
    grown = _missing(found.PHYSICS, found.TRUTH, phase, {"diffusivity": 0.3, "growth": 1.0})[:, 0, 0]
    torch.testing.assert_close(grown, torch.tensor([0.0, 0.25, 0.0]))


def test_its_files_are_read_back(example: ModuleType, tmp_path: Path):
    problem = example.problem(tmp_path, **FEW[example.__name__])
    assert len(problem.train) == 6
    assert set(problem.truth.params) <= set(problem.test.truth)
    assert gm.check(problem.physics, problem.train).fits


@pytest.mark.slow
@pytest.mark.usefixtures("roughly")
def test_it_ends_in_a_table_and_a_figure(example: ModuleType, tmp_path: Path):
    def problem(folder: Path, **data: int) -> Any:
        """A small net, which begins as nothing, judged by few."""
        found = example.problem(folder, **data)
        return replace(found, test=found.test.select(slice(6)), choices=found.choices | NET_ALONE)

    small = {"data": FEW[example.__name__], "draws": 4, "steps": 2}
    run = importlib.import_module("judging").ran
    result: dict[str, Any] = run(problem, example.figure, 1.0, 1, tmp_path, **small)
    name = result["example"]
    assert json.loads((tmp_path / f"{name}.json").read_text())["example"] == name
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    text = (tmp_path / f"{name}.md").read_text()
    assert all(row in text for row in ("hold", "zero", "per-time mean", "physics only", "true equations"))
    assert all(np.isfinite(run["mse"]) for run in result["runs"])
