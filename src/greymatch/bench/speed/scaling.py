"""How cost grows: forecasts of more trajectories, draws, times and states."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import numpy as np
import torch

from greymatch.bench.speed.fitted import asked, fitted
from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.stepping import network_for
from greymatch.bench.speed.timing import Curve, in_turns
from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

TRAJECTORIES, DRAWS, TIMES, STATES = 12, 50, 44, 2  # the first size of each; the others stay where they are
TURNS = 3
HIGHEST = {"trajectories": 1.0, "draws": 1.0, "horizon": 1.0}  # slopes


def scaling(sizes: Sizes) -> Iterator[Curve]:
    model = fitted(sizes.model_steps)

    def forecast(trajectories: int = TRAJECTORIES, draws: int = DRAWS, times: int = TIMES) -> object:
        history, _ = asked(trajectories)
        step = history.times[0, 1] - history.times[0, 0]
        return model.forecast(history, history.times[0, -1] + step * torch.arange(1, times + 1), draws=draws)

    yield _curve("trajectories", TRAJECTORIES, sizes, lambda size: forecast(trajectories=size))
    yield _curve("draws", DRAWS, sizes, lambda size: forecast(draws=size))
    yield _curve("horizon", TIMES, sizes, lambda size: forecast(times=size))
    models = {size: _chain(size) for size in _doubled(STATES, sizes.doublings)}
    yield _curve("states", STATES, sizes, lambda size: _forecast_chain(*models[size]))


def _doubled(first: int, doublings: int) -> list[int]:
    return [first * 2**n for n in range(doublings)]


def _curve(axis: str, first: int, sizes: Sizes, way: Callable[[int], object]) -> Curve:
    """All sizes in each turn, so that a busy moment does not bend the curve."""
    doubled = _doubled(first, sizes.doublings)
    found = in_turns({str(size): lambda size=size: way(size) for size in doubled}, min(TURNS, sizes.turns))
    return Curve(axis, doubled, [statistics.median(found[str(size)]) for size in doubled], HIGHEST.get(axis))


def _chain(states: int) -> tuple[GreyBox, Trajectories]:
    """An untrained model of decaying states: what a forecast costs does not depend on what was learned."""
    names = [f"x{n}" for n in range(states)]

    def decay(t, x, p):
        return {name: -p.rate * getattr(x, name) for name in names}

    physics = Physics(decay, names, {"rate": 1.0})
    times = torch.linspace(0, 2, 41, dtype=torch.float64).expand(20, -1)
    speeds = torch.arange(1, states + 1) / states
    values = torch.exp(-times[..., None] * speeds).float()
    data = Trajectories(tuple(names), times, values, torch.ones_like(values, dtype=torch.bool), np.arange(len(times)))
    settings = Settings(window=11).updated({"encoder.probes": 0})
    return GreyBox(physics, network_for(physics, data, settings).eval()), data


def _forecast_chain(model: GreyBox, data: Trajectories) -> object:
    return model.forecast(data.first(11), data.times[0, 11:], draws=DRAWS)
