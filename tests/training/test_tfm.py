"""Trajectory flow matching through the public API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import greymatch as gm
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

ROTATION = Physics(lambda t, x, p: {"a": x.b, "b": -x.a}, ["a", "b"], name="rotation")
SMALL = {"method": "tfm", "memory.width": 48, "memory.depth": 2, "training.validations": 4, "training.ema": 0.99}


def rotations(rows: int, seed: int = 0, points: int = 30, step: float = 0.3) -> Trajectories:
    rng = np.random.default_rng(seed)
    times = step * torch.arange(points, dtype=torch.float64)
    angle = times + torch.as_tensor(rng.uniform(0, 2 * np.pi, (rows, 1)))
    size = torch.as_tensor(rng.uniform(0.5, 1.5, (rows, 1)))
    values = torch.stack([size * angle.sin(), size * angle.cos()], -1)
    return Trajectories(
        ("a", "b"), times.repeat(rows, 1), values, torch.ones_like(values, dtype=torch.bool), np.arange(rows)
    )


def settings(**changes: Any) -> Settings:
    return Settings(window=4).updated(SMALL | {key.replace("__", "."): value for key, value in changes.items()})


@pytest.fixture(scope="module")
def turned() -> gm.GreyBox:
    chosen = settings(memory__noise=0.01, training__rate=1e-2, training__batch=128)
    return gm.fit(ROTATION, rotations(60), settings=chosen, steps=700, quiet=True)


def test_a_rotation_is_learned(turned: gm.GreyBox):
    test = rotations(20, seed=1)
    forecast = turned.forecast(test.first(4), test.times[0, 4:], draws=1)
    assert float((forecast.draws[0] - test.values[:, 4:]).square().mean()) < 1e-3
    assert forecast.failed == 0


def test_draws_spread_as_far_as_the_errors(turned: gm.GreyBox):
    test = rotations(20, seed=1)
    forecast = turned.forecast(test.first(4), test.times[0, 4:], draws=50)
    assert 0.6 < gm.score(forecast, test, 0.9).coverage <= 1.0


def test_a_saved_model_says_the_same(turned: gm.GreyBox, tmp_path: Path):
    history = rotations(5, seed=2).first(6)
    again = gm.load(turned.save(tmp_path / "turned.safetensors"), physics=ROTATION)
    for draws in (1, 7):
        one, other = (model.forecast(history, [2.0, 2.5, 9.0], draws=draws).draws for model in (turned, again))
        assert torch.equal(one, other)


def test_trajectories_are_forecast_each_by_itself(turned: gm.GreyBox):
    data = rotations(6, seed=3)
    order = [3, 0, 5, 1, 4, 2]
    one = turned.forecast(data.first(5), data.times[0, 5:], draws=1).draws[:, order]
    other = turned.forecast(data.select(order).first(5), data.times[0, 5:], draws=1).draws
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_nothing_is_inferred_and_nothing_known(turned: gm.GreyBox, tmp_path: Path):
    with pytest.raises(gm.GreymatchError, match="there is nothing to infer"):
        turned.infer(rotations(2).first(4))
    share = turned.physics_share(rotations(40))
    # the secant of a rotation over a step of 0.3 is a little shorter than its unit velocity
    assert share["a"]["share"] == 0.0
    assert share["a"]["residual"] == pytest.approx(np.sqrt(13 / 24), rel=0.15)


def test_it_is_judged_and_reported_as_all_are(turned: gm.GreyBox, tmp_path: Path):
    evaluation = gm.evaluate(turned, rotations(8, seed=4), given=4, draws=5)
    assert "tfm" in evaluation.table().index
    page = gm.write_report(evaluation, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "uses no physics" in page


def test_a_resumed_run_is_the_run(tmp_path: Path):
    data, chosen = rotations(12), settings(training__batch=16, training__checkpoint_seconds=0.0)

    class Stop:
        def log(self, step: int, metrics: dict[str, float]) -> None:
            if step >= 15:
                raise KeyboardInterrupt

        def close(self) -> None: ...

    whole = gm.fit(ROTATION, data, settings=chosen, steps=30, folder=tmp_path / "whole", quiet=True)
    with pytest.raises(KeyboardInterrupt):
        gm.fit(ROTATION, data, settings=chosen, steps=30, folder=tmp_path / "cut", trackers=[Stop()], quiet=True)
    rest = gm.fit(ROTATION, data, settings=chosen, steps=30, folder=tmp_path / "cut", resume=True, quiet=True)
    mine, its = whole.network.state_dict(), rest.network.state_dict()
    assert all(torch.equal(mine[name], its[name]) for name in mine)


@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed"])
def test_every_precision_trains(precision: str):
    chosen = settings(training__precision=precision, training__batch=16)
    model = gm.fit(ROTATION, rotations(12), settings=chosen, steps=10, quiet=True)
    forecast = model.forecast(rotations(2).first(4), [2.0], draws=2)
    assert bool(forecast.draws.isfinite().all())


def uneven(rows: int, inputs: bool = False) -> Trajectories:
    """Rotations seen at random times, one in ten values missing."""
    generator = torch.Generator().manual_seed(5)
    data = rotations(rows)
    times = (0.3 * (0.5 + torch.rand(rows, 30, generator=generator, dtype=torch.float64))).cumsum(1)
    angle = times + 6 * torch.rand(rows, 1, generator=generator, dtype=torch.float64)
    values = torch.stack([angle.sin(), angle.cos()], -1)
    mask = torch.rand(values.shape, generator=generator) > 0.1
    signals = Signals(("q",), times, angle[..., None].sin()) if inputs else None
    return replace(data, times=times, values=values * mask, mask=mask, inputs=signals)


@pytest.mark.parametrize("order", [1, 2])
def test_uneven_times_gaps_and_inputs(order: int):
    physics = Physics(lambda t, x, p, u: {"a": u.q, "b": -x.a}, ["a", "b"], {}, order, inputs=["q"])
    data = uneven(24, inputs=True)
    chosen = settings(memory__points=5, memory__noise=0.01, window=6, training__rate=5e-3)
    model = gm.fit(physics, data, settings=chosen, steps=400, quiet=True)
    assert float(model.network.next_point.shortest) < 0.7
    history = data.first(12)
    forecast = model.forecast(history, data.times[:, 12:], draws=1)
    assert forecast.failed == 0
    error = (forecast.draws[0] - data.values[:, 12:])[data.mask[:, 12:]]
    assert float(error.square().mean()) < 0.15, "zero scores 0.5"


@pytest.mark.parametrize("kind", ["mlp", "conv"])
def test_fields(kind: str):
    spread = Physics(lambda t, x, p: {"u": laplacian(x.u, 1.0, dims=1)}, ["u"], grid=["x"])
    waves = 2 * np.pi * torch.arange(8) / 8
    phase = torch.linspace(0, 6, 20, dtype=torch.float64).reshape(-1, 1, 1)
    times = 0.2 * torch.arange(12, dtype=torch.float64)
    values = ((waves + phase).sin() * torch.exp(-0.6 * times)[:, None])[:, :, None]
    data = Trajectories(
        ("u",), times.repeat(20, 1), values, torch.ones_like(values, dtype=torch.bool), np.arange(20), grid=("x",)
    )
    chosen = settings(residual__kind=kind, encoder__kind="conv", memory__width=16, memory__noise=0.01)
    model = gm.fit(spread, data, settings=chosen, steps=150, quiet=True)
    forecast = model.forecast(data.first(4), times[4:], draws=3)
    assert forecast.draws.shape == (3, 20, 8, 1, 8)
    central = model.forecast(data.first(4), times[4:], draws=1).draws[0]
    assert float((central - values[:, 4:]).square().mean()) < 0.5 * float(values[:, 4:].square().mean())


def test_the_memory_may_be_longer_than_the_window(recording: Callable):
    chosen = settings(window=3, memory__points=6)
    model = gm.fit(ROTATION, rotations(8), settings=chosen, steps=5, quiet=True)
    forecast = model.forecast(rotations(2).first(3), [1.0], draws=1)
    assert bool(forecast.draws.isfinite().all())
