"""How noisy the observations are: white noise, one standard deviation for each state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean

Asked = Literal["auto"] | float | Mapping[str, float]

ORDERS = range(2, 9)
MEDIAN_OF_NORMAL = 0.6745  # of |n| for a standard normal n
MOST_NUMBERS = 2_000_000
ENOUGH = 32  # differences, for a median to mean something
CLEAN, QUIET = 1e-5, 1e-5  # of a state's spread: less is no noise; what a state without noise has beside noisy ones
FLAT = 0.8  # of what an order leaves, the next one leaves more if it is noise


def estimate_noise(trajectories: Trajectories) -> dict[str, float]:
    """The standard deviation of the white noise on each state, in its own units; close to 0 for a smooth recording.

    ```python
    estimate_noise(data)                        # {"angle": 0.021}
    ```

    Differences d = sum_j w_j x(t_j) over p + 1 neighbours in time, with the weights of the divided difference of order
    p scaled to sum_j w_j^2 = 1, keep white noise as it is and take away a polynomial of degree p - 1. Their median
    |d| / 0.6745 is the noise plus what motion is left; the least over p = 2..8 has the least motion in it. Times may
    be uneven, gaps are stepped over.

    Not for noise that is correlated in time, nor for motion that the samples hardly resolve: it then counts as noise.
    """
    return {name: _least(sizes) for name, sizes in _sizes(trajectories).items()}


def assumed_noise(asked: Asked, data: Trajectories) -> dict[str, float]:
    """The noise of each state that a setting stands for, given the data; {} when there is none at all.

    "auto" estimates it, and takes as none what is tiny beside the state's spread, or motion: that of a smooth recording
    shrinks from order to order of the differences, where noise stays. A number holds for all states, a mapping for
    those it names; others have none.
    """
    if asked == "auto":
        sizes, spreads = _sizes(data), _spreads(data)
        found = {
            name: _least(some) * (_stays(some) and _least(some) > CLEAN * spreads[name]) for name, some in sizes.items()
        }
    else:
        found = _given(asked, data.states)
    if not any(found.values()):
        return {}
    return {name: size or QUIET * _spreads(data)[name] for name, size in found.items()}


def with_noise(noise: Mapping[str, float], *data: Trajectories) -> tuple[Trajectories, ...]:
    """The data with this noise assumed of their observations."""
    return tuple(replace(part, noise=tuple(noise.values())) for part in data)


def told_noise(noise: Mapping[str, float], asked: Asked) -> str:
    """What is assumed, and how to say otherwise."""
    how = "estimated" if asked == "auto" else "as set"
    if not noise:
        return f"noise of the observations: none ({how}); nothing is smoothed"
    sizes = ", ".join(f"{name} {size:.3g}" for name, size in noise.items())
    return f"noise of the observations ({how}): {sizes}; smoothed accordingly (data.noise = 0: not at all)"


def _given(asked: float | Mapping[str, float], states: tuple[str, ...]) -> dict[str, float]:
    if not isinstance(asked, Mapping):
        return dict.fromkeys(states, float(asked))
    for name in asked:
        if name not in states:
            raise GreymatchError(
                f"`data.noise` must name states of the data, {list(states)}; got {name!r}.{did_you_mean(name, states)}"
            )
    return {name: float(asked.get(name, 0.0)) for name in states}


def _spreads(data: Trajectories) -> dict[str, float]:
    """The standard deviation of all observations of each state; 1 where it does not move."""
    parts = zip(data.states, data.values.movedim(2, 0), data.mask.movedim(2, 0), strict=True)
    return {name: float(values[seen].double().std(unbiased=False)) or 1.0 for name, values, seen in parts}


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


def _sizes(trajectories: Trajectories) -> dict[str, list[float]]:
    """Of each state, what differences of the orders that have enough of them leave; of the lowest if none has."""
    data = _some(trajectories)
    times, values, counts = _observed(data)
    found = [_differences(times, values, counts, order) for order in ORDERS if order < times.shape[1]]
    return {name: _enough([_typical(some[:, :, place]) for some in found]) for place, name in enumerate(data.states)}


def _enough(of_orders: list[tuple[float, int]]) -> list[float]:
    return [size for size, count in of_orders if count >= ENOUGH] or [size for size, _ in of_orders[:1]]


def _stays(sizes: list[float]) -> bool:
    """Whether the highest order takes hardly more away than the one before; with one alone nobody knows."""
    return len(sizes) < 2 or sizes[-1] >= FLAT * sizes[-2]


def _typical(differences: Tensor) -> tuple[float, int]:
    known = differences[differences.isfinite()]
    return (float(known.median()) / MEDIAN_OF_NORMAL if len(known) else 0.0), len(known)


def _least(sizes: list[float]) -> float:
    return min(sizes, default=0.0)
