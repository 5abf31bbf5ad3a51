"""Trivial predictors, as forecasts of one draw: what a model must beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.rollout import rollout, with_states
from greymatch.forecast.times import Times, as_times
from greymatch.matching.linear import Linear
from greymatch.physics.physics import Physics
from greymatch.simulation.start import start_phase

if TYPE_CHECKING:
    from greymatch.systems.system import System

_TOGETHER = 64  # training trajectories interpolated at once


def hold(history: Trajectories, times: Times) -> Forecast:
    """x(t) = x(start), the last observation for ever: score(hold(history, times), test)."""
    asked = as_times(times, history)
    last = start_phase(history, order=1)[:, None]
    return Forecast.of(history, asked, last.expand(-1, asked.shape[1], *last.shape[2:])[None])


def zero(history: Trajectories, times: Times) -> Forecast:
    """x(t) = 0, which is hard to beat where a system comes to rest there."""
    asked = as_times(times, history)
    return Forecast.of(history, asked, history.values.new_zeros((1, *asked.shape, *history.values.shape[2:])))


def time_mean(train: Trajectories, history: Trajectories, times: Times) -> Forecast:
    """x(t) = mean over the training trajectories at time t; where none of them runs, at the nearest time one does.

    They are interpolated linearly. Nothing of the history is used.
    """
    asked = as_times(times, history)
    train = with_states(train, history.states).to(history.times.device)
    moments = asked[asked.isfinite()].unique()
    means = [_mean_at(with_states(train, [name]), moments) for name in history.states]
    place = torch.searchsorted(moments, asked.contiguous()).clamp(max=len(moments) - 1)
    return Forecast.of(history, asked, torch.cat(means, 1).to(history.values)[place][None])


def physics_only(physics: Physics, history: Trajectories, times: Times) -> Forecast:
    """The known physics alone, with every parameter at the mean of its prior."""
    return rollout(physics, [prior.mean for prior in physics.params.values()], history, times)


def true_mean(system: System, history: Trajectories, times: Times) -> Forecast:
    """The complete equations of a system, with every parameter at the mean of its prior."""
    return physics_only(system.truth, history, times)


def _mean_at(train: Trajectories, moments: Tensor) -> Tensor:
    """Mean (M, 1, *grid) of the one state of `train`."""
    mean = _mean_where_known(train, moments)
    unknown = mean.flatten(1).isnan().any(1)
    if bool(unknown.any()):
        mean[unknown] = _mean_where_known(train, _nearest(train, moments[unknown]))
    if bool(mean.isnan().any()):
        raise GreymatchError(
            f"`train` must hold trajectories with at least two observations of {train.states[0]!r}; got {train!r}."
        )
    return mean


def _mean_where_known(train: Trajectories, moments: Tensor) -> Tensor:
    """Mean (M, 1, *grid), NaN where no trajectory runs."""
    total, count = torch.zeros((), device=moments.device), torch.zeros((), device=moments.device)
    for first in range(0, len(train), _TOGETHER):
        part = train.select(slice(first, first + _TOGETHER))
        rows = torch.arange(len(part), device=moments.device)
        path = Linear(max_gap=float("inf"))(part.times, part.values, part.mask).to(moments.device)
        query = moments.repeat(len(part), 1)
        position = path.position(rows, query)
        known = path.trust(rows, query).reshape(*query.shape, *[1] * (position.ndim - 2))
        total = total + (position * known).sum(0)
        count = count + known.sum(0)
    return torch.where(count > 0, total / count, torch.nan)


def _nearest(train: Trajectories, moments: Tensor) -> Tensor:
    """The observed time nearest to each of `moments`."""
    observed = train.times[train.mask.flatten(2).any(2)].unique()
    right = torch.searchsorted(observed, moments).clamp(1, max(1, len(observed) - 1))
    left, right = observed[right - 1], observed[right.clamp(max=len(observed) - 1)]
    return torch.where(moments - left <= right - moments, left, right)
