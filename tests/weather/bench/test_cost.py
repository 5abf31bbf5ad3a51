from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from greymatch.weather.archive import Archive
from greymatch.weather.bench import plain
from greymatch.weather.bench.cost import costs, peak_memory, speed
from greymatch.weather.bench.steppers import PlainStepper, Stepper
from greymatch.weather.layouts import wb1
from greymatch.weather.model import tiled
from greymatch.weather.read import read
from greymatch.weather.settings import WeatherSettings

TINY = WeatherSettings().updated(
    {"net.width": 4, "net.source_width": 4, "net.depth": 1, "net.history": 2, "training.batch": 2}
)


@pytest.fixture(scope="module")
def brief(atmosphere: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first hundred days: each process looks through all that there are."""
    folder, archive = tmp_path_factory.mktemp("brief"), read(atmosphere, years=(2015, 2015))
    wb1.write_year(folder, 2015, archive.fields.isel(time=slice(400)).load(), archive.still)
    return folder


@pytest.mark.slow
def test_both_loops_are_timed_and_compared(brief: Path) -> None:
    found = speed(brief, TINY, steps=1)
    assert min(found.values()) > 0
    assert found["ratio"] == pytest.approx(found["ours"] / found["plain"])


def test_a_step_learns(drifting: Archive) -> None:
    loop = Stepper(drifting, TINY)
    before = {name: value.clone() for name, value in loop.network.named_parameters()}
    assert loop.step() > 0
    assert any(not value.equal(before[name]) for name, value in loop.network.named_parameters())


@pytest.mark.parametrize("fewest", [0, tiled.FEWEST])
def test_both_loops_have_one_network_loss_and_gradient(
    drifting: Archive, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiled, "FEWEST", fewest)
    ours, ordinary = Stepper(drifting, TINY), PlainStepper(drifting, TINY)
    for one, other in zip(ours.network.parameters(), ordinary.network.parameters(), strict=True):
        one.data = torch.randn_like(one) * 0.3
        other.data = one.data.clone()
    sample = ours.sampler.draw(2, ours.generator)
    ours.engine.objective(sample, ours.noise, None).total.backward()
    plain.loss(ordinary.network, sample._replace(recalled=None), ordinary.noise).backward()
    for one, other in zip(ours.network.parameters(), ordinary.network.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        size = float(other.grad.abs().max())  # nothing but rounding for the bias of keys, which all ages share
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-3 * size + 1e-6)


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "runs" / "cost.json"
    kept.parent.mkdir()
    kept.write_text(json.dumps({"speed": {"ratio": 2.0}}))
    assert costs(tmp_path, tmp_path, TINY) == {"speed": {"ratio": 2.0}}


@pytest.mark.slow
def test_memory_is_that_of_a_process_of_its_own(brief: Path) -> None:
    found = peak_memory(brief, parts=2)
    assert found["parts"] == 2
    assert found["parameters"] > 4e5  # on a grid of this size, which is not halved
    assert 0.1 < found["gigabytes"] < 8
