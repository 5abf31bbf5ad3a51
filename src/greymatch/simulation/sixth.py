"""Butcher's Runge-Kutta method of order six: with fewer calls of a field than order four it comes far nearer."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from greymatch.simulation.slopes import columns, room, weighted

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
    """The state (B, *state) a `step` (B, 1) later; `slope` is the field at a state, so many of `PARTS` after the step's
    beginning."""
    begin = columns(state.flatten(1))
    slopes = room(len(STAGES), begin)
    for stage, (part, shares) in enumerate(zip(STAGES, SHARES, strict=True)):
        here = begin + step * weighted(shares, slopes) if shares else begin
        slopes[stage] = slope(part, here.reshape(state.shape)).flatten(1)
    return (begin + step * weighted(WEIGHTS, slopes)).reshape(state.shape)
