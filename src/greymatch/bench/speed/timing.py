"""Timing in turns: what else the machine does hits all ways alike, and ratios stand."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """One comparison: seconds that `amount` of `unit` took us and the plain way, turn by turn.

    Without `plain` there is nothing to compare with. `goal` is the ratio that should be reached, `most` the seconds
    that should not be exceeded. `note` tells how the two were made comparable.
    """

    part: str
    case: str
    unit: str
    amount: float
    ours: Sequence[float]
    plain: Sequence[float] = ()
    against: str = ""
    goal: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def ratios(self) -> list[float]:
        """How many times faster we were, in each turn."""
        return [theirs / own for own, theirs in zip(self.ours, self.plain, strict=False)]

    @property
    def reached(self) -> bool | None:
        """Whether the goal is; None if there is none."""
        if self.goal is not None:
            return statistics.median(self.ratios) >= self.goal
        return None if self.most is None else statistics.median(self.ours) <= self.most


@dataclass(frozen=True)
class Curve:
    """Median seconds by size, and the slope of their logarithms; `highest` is what that should not exceed."""

    axis: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    highest: float | None = None

    @property
    def slope(self) -> float:
        """By least squares: 1 is in proportion."""
        return statistics.linear_regression(
            [math.log(size) for size in self.sizes], [math.log(s) for s in self.seconds]
        )[0]

    @property
    def within(self) -> bool | None:
        """Whether cost stays in proportion; None where that is not promised."""
        return None if self.highest is None else self.slope <= self.highest


def in_turns(ways: Mapping[str, Callable[[], Any]], turns: int, warm: bool = True) -> dict[str, list[float]]:
    """Processor seconds of each way in each of `turns`; to be `warm`, a first turn is not counted."""
    found = [{name: seconds(way) for name, way in ways.items()} for _ in range(turns + warm)][warm:]
    return {name: [turn[name] for turn in found] for name in ways}


def seconds(way: Callable[[], Any]) -> float:
    """Of the processor, so that other programs do not count."""
    began = time.process_time()
    way()
    return time.process_time() - began


@contextmanager
def one_thread() -> Iterator[None]:
    """Both ways get one core, so that seconds of the processor are seconds of work."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
