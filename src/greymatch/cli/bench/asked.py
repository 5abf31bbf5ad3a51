"""What was typed, as the choice of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.cli.assignments import chosen, with_budget
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.bench.benchmark import Benchmark, Choice

QUICK = {"training.minutes": 0.2, "training.steps": None, "training.validations": 6}
OWN_OPTIONS = {"method": "--methods", "training.seed": "--seeds"}
QUICK_DRAWS, QUICK_VAL, QUICK_TEST = 5, 4, 40


@dataclass(frozen=True)
class Asked:
    """The options, unread."""

    systems: str
    methods: str
    seeds: str
    minutes: float | None = None
    changes: tuple[str, ...] = ()
    draws: int | None = None
    data: tuple[str, ...] = ()
    quick: bool = False
    noise: str = ""

    def choice(self, benchmark: Benchmark) -> Choice:
        from greymatch.bench.benchmark import Choice

        systems = _systems(self.systems)
        return Choice(
            systems=systems,
            methods=self._methods(benchmark),
            seeds=seeds_of(self.seeds)[: 1 if self.quick else None],
            changes=self._settings(),
            draws=self.draws or (QUICK_DRAWS if self.quick else None),
            val=QUICK_VAL if self.quick else None,
            test=QUICK_TEST if self.quick else None,
            data=_folders(self.data, systems),
            noise=self._noise(benchmark),
        )

    def _methods(self, benchmark: Benchmark) -> list[str]:
        if benchmark.methods:
            return _list(self.methods, "methods")
        if self.methods:
            raise GreymatchError(f"`--methods`: {benchmark.name} knows itself which methods it compares. Leave it out.")
        return []

    def _noise(self, benchmark: Benchmark) -> list[float]:
        if benchmark.noise:
            return _levels(self.noise)
        if self.noise:
            raise GreymatchError(f"`--noise`: {benchmark.name} has data without noise. Leave it out.")
        return [0.0]

    def _settings(self) -> dict[str, Any]:
        asked = with_budget(chosen(self.changes, training__minutes=self.minutes))
        for key, option in OWN_OPTIONS.items():
            if key in asked:
                raise GreymatchError(f"`--set {key}=...` is not for a benchmark. Use `{option}`.")
        return {**QUICK, **asked} if self.quick else asked


def commas(names: Sequence[object]) -> str:
    return ",".join(str(name) for name in names)


def _systems(text: str) -> list[str]:
    from greymatch.bench.benchmark import ALL
    from greymatch.bench.plan import system_named
    from greymatch.systems import SYSTEMS

    names = list(SYSTEMS) if text.strip() == ALL else _list(text, "systems")
    return [system_named(name).name for name in names]


def _list(text: str, option: str) -> list[str]:
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise GreymatchError(f"`--{option}` must name at least one, with commas between; got {text!r}.")
    return found


def seeds_of(text: str) -> list[int]:
    """What `--seeds` names."""
    parts = _list(text, "seeds")
    try:
        return list(dict.fromkeys(int(part) for part in parts))
    except ValueError:
        raise GreymatchError(f"`--seeds` must be whole numbers with commas between; got {text!r}.") from None


def _levels(text: str) -> list[float]:
    try:
        found = [float(part) for part in _list(text, "noise")]
    except ValueError:
        found = [-1.0]
    if not all(0 <= level < math.inf for level in found):
        raise GreymatchError(f"`--noise` must be numbers of at least 0 with commas between; got {text!r}.")
    return found


def _folders(texts: Sequence[str], systems: Sequence[str]) -> dict[str, Path]:
    """Folders of data by system; each must belong to a system that is asked for."""
    found = {}
    for text in texts:
        system, equals, folder = (part.strip() for part in text.partition("="))
        if not (equals and folder) or system not in systems:
            raise GreymatchError(
                f"`--data` must be SYSTEM=FOLDER with one of the systems {list(systems)}; got {text!r}."
            )
        found[system] = Path(folder)
    return found
