"""The parts of the suite, and what they found."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.timing import Curve, Measured, one_thread
from greymatch.errors import GreymatchError, did_you_mean

# module and function of each; they are loaded when they are asked for
PARTS = {
    "training": ("training", "training"),
    "store": ("store", "store"),
    "convolutions": ("training", "convolutions"),
    "forecast": ("forecasting", "forecasting"),
    "reading": ("reading", "reading"),
    "start-up": ("starting", "starting"),
    "scaling": ("scaling", "scaling"),
    "processes": ("processes", "processes"),
}


@dataclass(frozen=True)
class Found:
    """Comparisons, and curves of cost."""

    measured: list[Measured] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)


def checked_parts(names: Sequence[str]) -> list[str]:
    """Parts that there are, in their own order."""
    for name in names:
        if name not in PARTS:
            raise GreymatchError(
                f"`--parts` must be some of {list(PARTS)}; got {name!r}.{did_you_mean(name, list(PARTS))}"
            )
    if "forecast" in names and importlib.util.find_spec("torchdiffeq") is None:
        raise GreymatchError(
            "the part 'forecast' is compared with torchdiffeq, which is not there. Install it with: "
            "pip install 'greymatch[bench]', or leave the part out."
        )
    return [name for name in PARTS if name in names]


def measure(part: str, sizes: Sizes) -> Iterator[Found]:
    """One part on one core: all that it has found, each time that there is more."""
    module, function = PARTS[part]
    way = getattr(import_module(f"greymatch.bench.speed.{module}"), function)
    found = Found()
    with one_thread():
        for item in way(sizes):
            if isinstance(item, Curve):
                found.curves.append(item)
            else:
                found.measured.append(item)
            yield found
