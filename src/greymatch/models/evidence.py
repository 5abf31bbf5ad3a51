"""What a window shows of its highest derivative, and how far that can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.models.gaps import NODES
from greymatch.models.motion import Motion

FEWEST_POINTS = 4  # of a window: two derivatives of different order


@dataclass(frozen=True)
class Evidence:
    """What each of a window's points shows, with times (B, W), inputs (B, W, U) or None and fields (B, W, S, *grid).

    `top` is the highest derivative and `doubt` the error of its stencil; `seen` is 1 where all states were observed,
    and known wherever the stencil reads. `phase` is (B, W, order*S, *grid). Errors are `alone` where noise that is each
    cell's own makes them.
    """

    times: Tensor
    phase: Tensor
    top: Tensor
    doubt: Tensor
    seen: Tensor
    inputs: Tensor | None
    alone: bool = False

    @property
    def points(self) -> Tensor:
        """How many points (B,) show all states."""
        return self.seen.flatten(2).amin(2).sum(1)

    def select(self, rows: Tensor) -> Evidence:
        return self._picked(lambda part: part[rows])

    def thinned(self, most: int) -> Evidence:
        """Up to `most` of the points, evenly spread: slopes were taken from all of them."""
        count = self.times.shape[1]
        if count <= most:
            return self
        kept = torch.linspace(0, count - 1, most, device=self.times.device).round().long()
        return self._picked(lambda part: part[:, kept])

    def double(self) -> Evidence:
        return self._picked(Tensor.double)

    def _picked(self, pick: Callable[[Tensor], Tensor]) -> Evidence:
        inputs = None if self.inputs is None else pick(self.inputs)
        fields = (self.phase, self.top, self.doubt, self.seen)
        return Evidence(pick(self.times), *(pick(field) for field in fields), inputs=inputs, alone=self.alone)

    @staticmethod
    def joined(parts: list[Evidence]) -> Evidence:
        """Of windows of as many points."""
        inputs = [part.inputs for part in parts if part.inputs is not None]
        names = ("times", "phase", "top", "doubt", "seen")
        fields = [torch.cat([getattr(part, name) for part in parts]) for name in names]
        return Evidence(*fields, inputs=torch.cat(inputs) if inputs else None, alone=parts[0].alone)

    @staticmethod
    def of(window: Window, stencil: int, order: int) -> Evidence:
        """The error of a stencil is its difference to one that is shorter by two points, also over gaps, the larger of
        neighbours'; beside it there is what noise leaves."""
        points = min(stencil + 2, window.times.shape[1])
        motion, coarse = Motion.of(window, points), Motion.of(window, points - 2, NODES - 2)
        doubt = (motion.top(order) - coarse.top(order)).abs()
        if motion.doubt is not None:
            doubt = torch.hypot(doubt, motion.doubt[..., order])
        before, after = doubt[:, :1], doubt[:, -1:]
        around = torch.cat([before, doubt, after], 1)
        return Evidence(
            times=motion.times,
            phase=motion.phase(order),
            top=motion.top(order),
            doubt=torch.stack([around[:, :-2], around[:, 1:-1], around[:, 2:]]).amax(0),
            seen=motion.seen.amin(2, keepdim=True) * _sound(motion.known.amin(2, keepdim=True), points),
            inputs=motion.inputs,
        )


def _sound(known: Tensor, points: int) -> Tensor:
    """Where every point that a stencil of `points` reads is known: across a long gap its derivative is a guess."""
    length = known.shape[1]
    start = (torch.arange(length, device=known.device) - (points - 1) // 2).clamp(0, length - points)
    return known.unfold(1, points, 1).amin(-1)[:, start]
