"""Derivatives at the points of a window, from the points around them."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.path import widen


def window_derivatives(times: Tensor, values: Tensor, points: int = 5, order: int = 2) -> tuple[Tensor, ...]:
    """x'_i = sum_j D_ij (x_j - x_i), and x''_i alike, over the `points` nodes nearest to i, itself included.

        velocity, acceleration = window_derivatives(times, values)      # times (batch, time)
        (velocity,) = window_derivatives(times, values, points=3, order=1)

    D are the derivatives of the Lagrange polynomial on uneven times: nodes are centred inside a window and
    one-sided at its ends. Shorter windows use all their points. Order points-1 for x', points-2 for x''.

    Not for gaps or padding (every point counts), nor for noisy data, which they amplify.
    """
    points = _at_most(points, times)
    if order not in (1, 2):
        raise GreymatchError(f"`order` must be 1 or 2; got {order!r}.")
    others = _others(times.shape[1], points, times.device)
    weights = _weights(times[:, others] - times[..., None], order)
    differences = values[:, others] - values[:, :, None]
    return tuple((widen(weight, differences) * differences).sum(2) for weight in weights)


def end_velocity(times: Tensor, values: Tensor, points: int = 5) -> Tensor:
    """x' (batch, state, *grid) at the last time, one-sided: where a forecast starts from.

        velocity = end_velocity(times, values)

    As `window_derivatives` at its last point, and not for the same cases.
    """
    points = _at_most(points, times)
    (weight,) = _weights(times[:, -points:-1] - times[:, -1:], 1)
    differences = values[:, -points:-1] - values[:, -1:]
    return (widen(weight, differences) * differences).sum(1)


def _at_most(points: int, times: Tensor) -> int:
    if points < 2:
        raise GreymatchError(f"`points` must be at least 2 for a derivative; got {points!r}. Try 5.")
    if times.shape[1] < 2:
        raise GreymatchError(f"`times` must hold at least two times for a derivative; got {times.shape[1]}.")
    return min(points, times.shape[1])


def _others(length: int, points: int, device: torch.device) -> Tensor:
    """The other nodes (time, points - 1) of the polynomial at each time."""
    here = torch.arange(length, device=device)[:, None]
    start = (here - (points - 1) // 2).clamp(0, length - points)
    others = start + torch.arange(points - 1, device=device)
    return others + (others >= here)


def _weights(offsets: Tensor, order: int) -> tuple[Tensor, ...]:
    """The weights of x_j - x_i in the derivatives at i, for nodes at `offsets` (..., j) from it.

    D_j = (1/u_j) prod_m u_m / (u_m - u_j) and D2_j = -2 D_j sum_m 1/u_m, over m other than j. As ratios,
    the products neither overflow nor vanish, whatever the unit of time.
    """
    others = [offsets.roll(shift, -1) for shift in range(1, offsets.shape[-1])]
    first = offsets.reciprocal()
    for other in others:
        first = first * (other / (other - offsets))
    if order == 1:
        return (first,)
    slopes = sum((other.reciprocal() for other in others), torch.zeros_like(offsets))
    return first, -2 * first * slopes
