"""The observation that each forecast value is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from greymatch.data.checks import shown
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean
from greymatch.forecast.times import same_time

if TYPE_CHECKING:
    from greymatch.forecast.forecast import Forecast


@dataclass(frozen=True, eq=False)
class Judged:
    """Truth `values` (N, T, S, *grid) at the forecast's places, and which of them are `scored`."""

    values: Tensor
    scored: Tensor


def align(forecast: Forecast, truth: Trajectories) -> Judged:
    """Match trajectories by label, states by name and times to a millionth of the step; given points are out."""
    truth = truth.select(_rows(forecast, truth)).to(forecast.draws.device)
    states = torch.as_tensor(_states(forecast, truth), device=forecast.draws.device)
    _check_grid(forecast, truth)
    index, matched = _nearest(forecast.times, truth)
    matched &= forecast.times > forecast.start[:, None] + same_time(truth, forecast.start)[:, None]
    rows = torch.arange(len(forecast), device=index.device)[:, None]
    scored = truth.mask[rows, index][:, :, states] & _widen(matched, truth.values.ndim)
    if not bool(scored.any()):
        raise GreymatchError(
            f"`truth` must be observed at some of the times forecast, after the history; {truth!r} has none of the "
            f"times of {forecast!r}. Give the whole recording, not its history, and ask for times it was observed at."
        )
    return Judged(truth.values[rows, index][:, :, states], scored)


def by_lead(forecast: Forecast, scored: Tensor) -> tuple[Tensor, Tensor]:
    """Lead times (L,) and the place of each forecast time (N, T) among them.

    Trajectories that share their leads give one for each time; else as many bins of equal width, each
    standing at the mean of the leads in it.
    """
    used = scored.flatten(2).any(2)
    lead = torch.where(used, forecast.lead, torch.nan)
    shared = lead.nanmean(0)
    width = torch.where(used, forecast.lead, 0.0).max() / lead.shape[1]
    slack = 1e-3 * width
    if bool((~used | ((lead - shared).abs() <= slack)).all()):
        place = torch.arange(lead.shape[1], device=lead.device).expand(lead.shape)
    else:
        place = torch.where(used, ((lead - slack) / width).ceil() - 1, 0).clamp(0, lead.shape[1] - 1).long()
    total, count = (
        torch.zeros_like(shared).index_add_(0, place[used], part[used]) for part in (lead, torch.ones_like(lead))
    )
    kept = count > 0
    return (total / count)[kept], (kept.cumsum(0) - 1).clamp_min(0)[place]


def _rows(forecast: Forecast, truth: Trajectories) -> np.ndarray:
    if np.array_equal(forecast.labels, truth.labels):
        return np.arange(len(truth))
    where = {label: row for row, label in reversed(list(enumerate(truth.labels.tolist())))}
    for row, label in enumerate(forecast.labels.tolist()):
        if label not in where:
            raise GreymatchError(
                f"`truth` must hold every trajectory forecast; {shown(forecast.labels, row)} is not among its "
                f"{len(truth)} labels, such as {shown(truth.labels, 0)}. Score against the data the history came from."
            )
    return np.array([where[label] for label in forecast.labels.tolist()])


def _states(forecast: Forecast, truth: Trajectories) -> list[int]:
    for name in forecast.states:
        if name not in truth.states:
            raise GreymatchError(
                f"`truth` must hold the states forecast, {list(forecast.states)}; got {list(truth.states)}."
                f"{did_you_mean(name, truth.states)}"
            )
    return [truth.states.index(name) for name in forecast.states]


def _check_grid(forecast: Forecast, truth: Trajectories) -> None:
    if truth.values.shape[3:] != forecast.draws.shape[4:]:
        raise GreymatchError(
            f"`truth` must be on the grid of the forecast, {tuple(forecast.draws.shape[4:])}; "
            f"got {tuple(truth.values.shape[3:])}."
        )


def _nearest(times: Tensor, truth: Trajectories) -> tuple[Tensor, Tensor]:
    """For each time (N, T) the index of the closest observation time, and whether it is the same."""
    own = truth.times.contiguous()
    right = torch.searchsorted(own, times.contiguous()).clamp(max=own.shape[1] - 1)
    left = (right - 1).clamp_min(0)
    away = [(own.gather(1, index) - times).abs() for index in (left, right)]
    index = torch.where(away[0] <= away[1], left, right)
    # inf - inf is NaN, which matches nothing
    return index, (own.gather(1, index) - times).abs() <= same_time(truth, times)


def _widen(matched: Tensor, ndim: int) -> Tensor:
    return matched.reshape(*matched.shape, *[1] * (ndim - 2))
