"""Evaluations made by hand: no network is trained, so that the page alone is under test."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.evaluation import Evaluation
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.posterior import Posterior
from greymatch.forecast.references import hold, zero
from greymatch.forecast.scores import score
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.models.seen import Seen
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Uniform
from greymatch.settings import Settings
from greymatch.simulation.status import Status

Maker = Callable[..., Evaluation]
GIVEN, POINTS = 8, 40
RECORD = {"steps": 600, "seconds": 75.4, "best_step": 500, "trajectories": {"train": 90, "validation": 10}}


@pytest.fixture
def make() -> Maker:
    return evaluation_of


def evaluation_of(
    trajectories: int = 9,
    states: tuple[str, ...] = ("angle",),
    grid: tuple[int, ...] = (),
    draws: int = 30,
    noise: float = 0.02,
    known: bool = True,
    failed: int = 0,
    ragged: bool = False,
    labels: list[object] | None = None,
    units: dict[str, str] | None = None,
    share: float = 0.8,
    method: str = "vgb-dm",
) -> Evaluation:
    """Damped waves, and a forecast that strays from them in proportion to `noise` and the trajectory's number."""
    rng = np.random.default_rng(7)
    data = waves(rng, trajectories, states, grid, ragged)
    names = labels or list(range(trajectories))
    omega = rng.uniform(1.0, 3.0, trajectories)
    test = Trajectories(
        states=states,
        labels=np.array(names),
        grid=("y", "x", "w")[: len(grid)],
        truth={"omega": omega} if known else {},
        units=units or {},
        **data,
    )
    history = test.first(GIVEN)
    forecast = forecast_of(rng, test, history, draws, noise, failed)
    references = {"hold": hold(history, forecast.times), "zero": zero(history, forecast.times)}
    model = model_of(states, test.grid, method)
    return Evaluation(
        model=model,
        test=test,
        history=history,
        seen=Seen(model.network, history, cast(Any, None)),
        forecast=forecast,
        scores=score(forecast, test),
        references={name: score(one, test) for name, one in references.items()},
        posterior=posterior_of(rng, test, omega) if method != "vbb-dm" else None,
        share={name: {"physics": share, "residual": 1 - share, "share": share} for name in states},
    )


def waves(
    rng: np.random.Generator, count: int, states: tuple[str, ...], grid: tuple[int, ...], ragged: bool
) -> dict[str, Any]:
    times = (
        np.cumsum(rng.uniform(0.05, 0.2, (count, POINTS)), 1)
        if ragged
        else np.tile(0.1 * np.arange(POINTS), (count, 1))
    )
    phase = rng.uniform(0, 6, (count, 1, len(states), *grid))
    lasting = times.reshape(count, POINTS, *[1] * (1 + len(grid)))
    values = np.sin(2 * lasting + phase) * np.exp(-0.1 * lasting)
    mask = np.ones_like(values, dtype=bool)
    if ragged:
        times[0, POINTS // 2 :] = np.inf
        mask[0, POINTS // 2 :] = False
        mask[-1, 12:15] = False
    return {
        "times": torch.as_tensor(times),
        "values": torch.as_tensor(np.where(mask, values, 0.0)),
        "mask": torch.as_tensor(mask),
    }


def forecast_of(
    rng: np.random.Generator, test: Trajectories, history: Trajectories, draws: int, noise: float, failed: int
) -> Forecast:
    times, future = test.times[:, GIVEN:], test.values[:, GIVEN:]
    size = noise * (1 + np.arange(len(test))).reshape(-1, *[1] * (future.ndim - 1))
    values = future + torch.as_tensor(size * rng.standard_normal((draws, *future.shape)))
    values = values.masked_fill(~times.isfinite().reshape(*times.shape, *[1] * (future.ndim - 2)), torch.nan)
    status = torch.zeros((draws, len(test)), dtype=torch.long)
    values[:failed, 0, 5:] = torch.nan
    status[:failed, 0] = Status.NOT_FINITE
    return Forecast(
        draws=values,
        times=times,
        start=history.times[:, -1],
        states=test.states,
        labels=test.labels,
        status=status,
        grid=test.grid,
        units=test.units,
    )


def model_of(states: tuple[str, ...], grid: tuple[str, ...], method: str) -> GreyBox:
    params = {"omega": Uniform(0.5, 3.5), "drift": Normal(0.0, 1.0), "gravity": 9.81}
    physics = Physics(still, states, params, grid=grid, name="waves")
    settings = Settings(window=GIVEN, method=method).updated({"training.steps": 600})
    known = Physics(still, states, {}, grid=grid) if method == "vbb-dm" else physics
    return GreyBox(physics, cast(Network, SimpleNamespace(settings=settings, physics=known)), dict(RECORD))


def posterior_of(rng: np.random.Generator, test: Trajectories, omega: np.ndarray) -> Posterior:
    spread = rng.standard_normal((200, len(test), 3)) * [0.1, 0.5, 0.0]
    centre = np.stack([omega + 0.05, np.zeros_like(omega), np.full_like(omega, 9.81)], 1)
    return Posterior(("omega", "drift", "gravity"), torch.as_tensor(centre + spread), test.labels)


def still(t, x, p):
    return {"angle": 0 * x.angle}
