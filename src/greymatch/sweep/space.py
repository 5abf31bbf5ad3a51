"""What a sweep goes over: lists and ranges of settings, taken as a grid or at random."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from greymatch.errors import GreymatchError

DIGITS = 4
Changes = dict[str, Any]


@dataclass(frozen=True)
class Values:
    """A few values, each as likely."""

    values: tuple[Any, ...]

    def draw(self, rng: random.Random) -> Any:
        return rng.choice(self.values)


@dataclass(frozen=True)
class Range:
    """All numbers between two, both ends included; `log`: each factor is as likely, not each number."""

    low: float
    high: float
    log: bool = False

    def draw(self, rng: random.Random) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        found = rng.uniform(low, high)
        found = math.exp(found) if self.log else found
        if isinstance(self.low, int) and isinstance(self.high, int):
            return min(max(round(found), self.low), self.high)
        return float(f"{found:.{DIGITS}g}")


Space = Mapping[str, Values | Range]


def parse(texts: Sequence[str], scalar: Callable[[str, str], Any]) -> dict[str, Values | Range]:
    """`residual.width=16,32`, `training.rate=1e-4:1e-2:log` by key; `scalar(key, text)` reads one value."""
    found: dict[str, Values | Range] = {}
    for text in texts:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not (key and equals and values):
            raise GreymatchError(
                f"`--over` must be KEY=A,B,... or KEY=LOW:HIGH[:log], such as residual.width=16,32; got {text!r}."
            )
        if key in found:
            raise GreymatchError(f"`--over {key}` stands twice; give all its values at once.")
        found[key] = _range(key, values, scalar) if ":" in values else _values(key, values, scalar)
    return found


def grid(space: Space) -> list[Changes]:
    """Every combination of the values."""
    for key, values in space.items():
        if isinstance(values, Range):
            raise GreymatchError(f"`--over {key}`: a range has no end of values. Give a list, or --random N.")
    lists = [values.values for values in space.values() if isinstance(values, Values)]
    return [dict(zip(space, chosen, strict=True)) for chosen in itertools.product(*lists)]


def sample(space: Space, count: int, seed: int) -> list[Changes]:
    """`count` combinations at random, none twice; the first of more are the same."""
    rng, found = random.Random(seed), dict[str, Changes]()
    for _ in range(100 * count):
        changes = {key: values.draw(rng) for key, values in space.items()}
        found.setdefault(repr(changes), changes)
        if len(found) == count:
            break
    return list(found.values())


def _values(key: str, text: str, scalar: Callable[[str, str], Any]) -> Values:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return Values(tuple(dict.fromkeys(scalar(key, part) for part in parts)))


def _range(key: str, text: str, scalar: Callable[[str, str], Any]) -> Range:
    low, high, *rest = text.split(":")
    ends = [scalar(key, part.strip()) for part in (low, high)]
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    if not numbers or rest not in ([], ["log"]) or not ends[0] < ends[1] or (rest and ends[0] <= 0):
        raise GreymatchError(
            f"`--over {key}` must be LOW:HIGH or LOW:HIGH:log with two numbers, the lower first and positive for "
            f"log; got {text!r}."
        )
    return Range(ends[0], ends[1], bool(rest))
