"""One step of Tsitouras' Runge-Kutta pair of order 5(4), with its interpolant of order 4, for many members at once.

The coefficients are those of Ch. Tsitouras, Computers & Mathematics with Applications 62 (2011) 770-775.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.simulation.slopes import numbers, room, weighted

Flat = Callable[[Tensor, Tensor], Tensor]

ORDER = 5
NODES = (0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0)
STAGES = (
    (0.161,),
    (-0.008480655492356989, 0.335480655492357),
    (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
    (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
    (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.02826905039406838),
    (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774),
)
"""Weights of the slopes so far at each node; the last is the end of the step, whose slope the next one begins with."""
ERROR = (
    0.00178001105222577714, 0.0008164344596567469, -0.007880878010261995, 0.1447110071732629,
    -0.5823571654525552, 0.45808210592918697, -1 / 66,
)  # fmt: skip
INTERPOLANT = (
    (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (
        -2.763706197274826, 0.1317, 3.930296236894751, -12.411077166933676,
        37.50931341651104, -27.896526289197286, 1.5,
    ),
    (
        2.9132554618219126, -0.2234, -5.941033872131505, 30.338188630282318,
        -88.1789048947664, 65.09189467479368, -4.0,
    ),
    (
        -1.0530884977290216, 0.1017, 2.490627285651253, -16.548102889244902,
        47.37952196281928, -34.87065786149661, 2.5,
    ),
)  # fmt: skip
"""Weights of the slopes for each power of the part of the step, from the first on."""


@dataclass(frozen=True)
class Step:
    """From `before` to `after` (B, N) by steps of `size` (B, 1), over slopes (7, B, N)."""

    before: Tensor
    after: Tensor
    slopes: Tensor
    size: Tensor

    @staticmethod
    def taken(field: Flat, t: Tensor, state: Tensor, slope: Tensor, dt: Tensor) -> Step:
        """A step `dt` (B,) from time `t` (B,), where the slope is known."""
        size, after = dt.to(state.dtype)[:, None], state
        slopes = room(len(STAGES) + 1, state)
        slopes[0] = slope
        clock = torch.addcmul(t, numbers(NODES, dt.dtype, dt.device)[:, None], dt).unbind()
        for stage, (now, weights) in enumerate(zip(clock, STAGES, strict=True), start=1):
            after = torch.addcmul(state, size, weighted(weights, slopes))
            slopes[stage] = field(now, after)
        return Step(state, after, slopes, size)

    @staticmethod
    def joined(steps: Sequence[Step]) -> Step:
        """Steps one after another, as if of so many times as many members."""
        if len(steps) == 1:
            return steps[0]
        before, after, size = (torch.cat([getattr(s, name) for s in steps]) for name in ("before", "after", "size"))
        return Step(before, after, torch.cat([step.slopes for step in steps], 1), size)

    def error(self) -> Tensor:
        """What the embedded solution of order 4 differs by (B, N)."""
        return self.size * weighted(ERROR, self.slopes)

    def at(self, rows: Tensor, part: Tensor) -> Tensor:
        """States (R, N) of members `rows` after a `part` (R,) of their step."""
        powers = [self.size * weighted(weights, self.slopes) for weights in INTERPOLANT]
        state, *powers = torch.cat([self.before, *powers], 1).index_select(0, rows).chunk(len(powers) + 1, 1)
        part = part.to(state.dtype)[:, None]
        total = powers[-1]
        for power in reversed(powers[:-1]):
            total = torch.addcmul(power, part, total)
        return torch.addcmul(state, part, total)
