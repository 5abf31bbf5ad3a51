"""Which years are learned from, chosen by, and judged on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from greymatch.errors import GreymatchError

Years = tuple[int, int]
"""First and last year, both inside."""


@dataclass(frozen=True)
class Splits:
    """Years to train on, to validate on and to be judged by; by default those of the paper.

    ```python
    parts = archive.split(Splits(train=(1979, 2015)))
    ```
    """

    train: Years = (2006, 2015)
    val: Years = (2016, 2016)
    test: Years = (2017, 2018)

    def __post_init__(self) -> None:
        spans = sorted(self.items(), key=lambda item: item[1])
        for name, (first, last) in spans:
            if first > last:
                raise GreymatchError(f"`{name}` must be (first year, last year); got {(first, last)}.")
        for (one, (_, last)), (other, (first, _)) in pairwise(spans):
            if first <= last:
                raise GreymatchError(f"`{one}` and `{other}` must not share years; both have {first}.")

    def items(self) -> list[tuple[str, Years]]:
        return [("train", self.train), ("val", self.val), ("test", self.test)]
