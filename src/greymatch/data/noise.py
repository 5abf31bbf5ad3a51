"""How noisy the observations are: white noise, one standard deviation for each state."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories

ORDERS = range(2, 9)
MEDIAN_OF_NORMAL = 0.6745  # of |n| for a standard normal n
MOST_NUMBERS = 2_000_000
ENOUGH = 32  # differences, for a median to mean something


def estimate_noise(trajectories: Trajectories) -> dict[str, float]:
    """The standard deviation of the white noise on each state, in its own units; close to 0 for a smooth recording.

        estimate_noise(data)                        # {"angle": 0.021}

    Differences d = sum_j w_j x(t_j) over p + 1 neighbours in time, with the weights of the divided difference of order
    p scaled to sum_j w_j^2 = 1, keep white noise as it is and take away a polynomial of degree p - 1. Their median
    |d| / 0.6745 is the noise plus what motion is left; the least over p = 2..8 has the least motion in it. Times may
    be uneven, gaps are stepped over.

    Not for noise that is correlated in time, nor for motion that the samples hardly resolve: it then counts as noise.
    """
    data = _some(trajectories)
    times, values, counts = _observed(data)
    found = [_differences(times, values, counts, order) for order in ORDERS if order < times.shape[1]]
    sizes = [[_typical(some[:, :, state]) for some in found] for state in range(len(data.states))]
    return {name: _least(of_orders) for name, of_orders in zip(data.states, sizes, strict=True)}


def _some(data: Trajectories) -> Trajectories:
    """Trajectories evenly from all of them, as many as are surely enough."""
    most = max(1, MOST_NUMBERS // data.values[0].numel())
    return data if len(data) <= most else data.select(torch.linspace(0, len(data) - 1, most).round().long())


def _observed(data: Trajectories) -> tuple[Tensor, Tensor, Tensor]:
    """Times and values (N, T, S, *grid) with each state's observations moved to the front, and how many there are."""
    clock = data.times.reshape(*data.times.shape, *[1] * (data.values.ndim - 2)).expand_as(data.values)
    order = (~data.mask).to(torch.int8).argsort(dim=1, stable=True)
    return clock.gather(1, order), data.values.double().gather(1, order), data.mask.sum(1, keepdim=True)


def _differences(times: Tensor, values: Tensor, counts: Tensor, order: int) -> Tensor:
    """|d| (N, T - order, S, *grid), NaN where a state has no more observations."""
    length = times.shape[1] - order
    clock = torch.stack([times[:, j : length + j] for j in range(order + 1)], -1)
    clock = clock - clock[..., :1]
    # products of ratios to the whole span: no power of the unit of time can overflow
    span = clock[..., -1:]
    weights = torch.ones_like(clock)
    for shift in range(1, order + 1):
        weights = weights * span / (clock - clock.roll(shift, -1))
    weights = weights / weights.square().sum(-1, keepdim=True).sqrt()
    near = torch.stack([values[:, j : length + j] for j in range(order + 1)], -1)
    last = torch.arange(order, times.shape[1], device=times.device).reshape(1, -1, *[1] * (values.ndim - 2))
    return (weights * near).sum(-1).abs().masked_fill(last >= counts, torch.nan)


def _typical(differences: Tensor) -> tuple[float, int]:
    known = differences[differences.isfinite()]
    return (float(known.median()) / MEDIAN_OF_NORMAL if len(known) else 0.0), len(known)


def _least(of_orders: list[tuple[float, int]]) -> float:
    """Of the orders with enough differences; with too few of all, what the lowest order says."""
    enough = [size for size, count in of_orders if count >= ENOUGH]
    return min(enough) if enough else (of_orders[0][0] if of_orders else 0.0)
