"""Butcher's Runge-Kutta method of order six: with fewer calls of a field than order four it comes far nearer."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

ORDER = 6
PARTS = 6  # of a step, between which its stages lie
STAGES = (0, 2, 4, 2, 5, 1, 6)  # where the field is asked
SHARES = (  # of the slopes there, in the way to the next
    (),
    (1 / 3,),
    (0, 2 / 3),
    (1 / 12, 1 / 3, -1 / 12),
    (25 / 48, -55 / 24, 35 / 48, 15 / 8),
    (3 / 20, -11 / 24, -1 / 8, 1 / 2, 1 / 10),
    (-261 / 260, 33 / 13, 43 / 156, -118 / 39, 32 / 195, 80 / 39),
)
WEIGHTS = (13 / 200, 0, 11 / 40, 11 / 40, 4 / 25, 4 / 25, 13 / 200)


def stepped(slope: Callable[[int, Tensor], Tensor], step: Tensor | float, state: Tensor) -> Tensor:
    """The state a `step` later, where `slope` is the field so many of `PARTS` after its beginning, at a state."""
    slopes: list[Tensor] = []
    for stage, shares in zip(STAGES, SHARES, strict=True):
        slopes.append(slope(stage, _moved(state, step, shares, slopes)))
    return _moved(state, step, WEIGHTS, slopes)


def _moved(state: Tensor, step: Tensor | float, shares: tuple[float, ...], slopes: list[Tensor]) -> Tensor:
    for share, slope in zip(shares, slopes, strict=True):
        state = state + (share * step) * slope if share else state
    return state
