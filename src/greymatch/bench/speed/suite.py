"""The parts of the suite, and all that they found."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from greymatch.bench.speed.reaching import Reached
from greymatch.bench.speed.scaling import Curve
from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.timing import Measured, one_thread
from greymatch.errors import GreymatchError, did_you_mean


@dataclass
class Found:
    """Comparisons, curves of cost and times to an error."""

    measured: list[Measured] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    reached: list[Reached] = field(default_factory=list)


def _training(sizes: Sizes, runs: Path) -> Iterator[Measured]:
    from greymatch.bench.speed.training import training

    return training(sizes)


def _convolutions(sizes: Sizes, runs: Path) -> Iterator[Measured]:
    from greymatch.bench.speed.training import convolutions

    return convolutions(sizes)


def _forecast(sizes: Sizes, runs: Path) -> Iterator[Measured]:
    from greymatch.bench.speed.forecasting import forecasting

    return forecasting(sizes)


def _reading(sizes: Sizes, runs: Path) -> Iterator[Measured]:
    from greymatch.bench.speed.reading import reading

    return reading(sizes)


def _starting(sizes: Sizes, runs: Path) -> Iterator[Measured]:
    from greymatch.bench.speed.starting import starting

    return starting(sizes)


def _scaling(sizes: Sizes, runs: Path) -> Iterator[Curve]:
    from greymatch.bench.speed.scaling import scaling

    return scaling(sizes)


def _reaching(sizes: Sizes, runs: Path) -> Iterator[Reached]:
    from greymatch.bench.speed.reaching import reaching

    return reaching(runs)


PARTS: dict[str, Callable[[Sizes, Path], Iterator[Measured] | Iterator[Curve] | Iterator[Reached]]] = {
    "training": _training,
    "convolutions": _convolutions,
    "forecast": _forecast,
    "reading": _reading,
    "start-up": _starting,
    "scaling": _scaling,
    "errors": _reaching,
}


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


def measure(part: str, sizes: Sizes, runs: Path) -> Found:
    """One part on one core; `runs` is a folder with runs of benchmarks, whose curves tell times to an error."""
    found = Found()
    with one_thread():
        for item in PARTS[part](sizes, runs):
            _sorted_in(found, item)
    return found


def _sorted_in(found: Found, item: Measured | Curve | Reached) -> None:
    if isinstance(item, Measured):
        found.measured.append(item)
    elif isinstance(item, Curve):
        found.curves.append(item)
    else:
        found.reached.append(item)
