"""The physics solved onwards from the last observation, as a forecast of one draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.times import Times, as_times, last_observed
from greymatch.physics.physics import Physics
from greymatch.simulation.simulate import phase_velocity
from greymatch.simulation.solve import Field, solve
from greymatch.simulation.start import start_phase


def rollout(physics: Physics, theta: Tensor | Sequence[float], history: Trajectories, times: Times) -> Forecast:
    """d(phase)/dt by the physics with parameters `theta`, (P,) or (N, P), from the last observation on.

        rollout(physics, [1.5], history, times).mean()

    Order 2 starts with the velocity the history shows. Not for parameters that are unknown: `fit` infers them.
    """
    history = with_states(history, physics.states)
    asked, start = as_times(times, history), last_observed(history)
    field = _field(physics, _parameters(physics, theta, history), history, torch.cat([start[:, None], asked], 1))
    solution = solve(field, start_phase(history, physics.order), start, asked)
    values = solution.values[:, :, : len(physics.states)]
    return Forecast.of(history, asked, values[None], solution.status[None])


def with_states(data: Trajectories, states: Sequence[str]) -> Trajectories:
    """The data with these states alone, in this order."""
    for name in states:
        if name not in data.states:
            raise GreymatchError(
                f"the data must hold the states {list(states)}; got {list(data.states)}."
                f"{did_you_mean(name, data.states)}"
            )
    pick = [data.states.index(name) for name in states]
    return replace(data, states=tuple(states), values=data.values[:, :, pick], mask=data.mask[:, :, pick])


def _parameters(physics: Physics, theta: Tensor | Sequence[float], history: Trajectories) -> Tensor:
    given = torch.as_tensor(theta).to(history.values)
    try:
        return given.expand(len(history), len(physics.params))
    except RuntimeError:
        raise GreymatchError(
            f"`theta` must hold the parameters {list(physics.params)}, for all trajectories or for each of the "
            f"{len(history)}; got shape {tuple(given.shape)}."
        ) from None


def _field(physics: Physics, theta: Tensor, history: Trajectories, times: Tensor) -> Field:
    """What the solver integrates; inputs must be known over all of `times` (N, T)."""
    if not physics.inputs:
        return lambda t, phase: phase_velocity(physics, t, phase, theta)
    signals, rows = _signals(history, physics.inputs), torch.arange(len(history), device=times.device)
    signals.check_covers(rows, times, history.labels)

    def driven(t: Tensor, phase: Tensor) -> Tensor:
        u = signals.at(rows, t[:, None])[:, 0].to(phase.dtype)
        return phase_velocity(physics, t, phase, theta, u)

    return driven


def _signals(history: Trajectories, names: tuple[str, ...]) -> Signals:
    """The inputs with these names alone, in this order."""
    signals = history.inputs
    known = signals.names if signals else ()
    missing = [name for name in names if name not in known]
    if signals is None or missing:
        raise GreymatchError(
            f"`history` must hold the inputs of the physics, {list(names)}; it has {list(known)}."
            f"{did_you_mean(missing[0], known)} Read them with `inputs=[...]`."
        )
    if known == names:
        return signals
    pick = [known.index(name) for name in names]
    return replace(signals, names=names, values=signals.values[..., pick], mask=signals.seen[..., pick])
