"""A benchmark as data: which runs it needs, and what it shows of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greymatch.bench.plan import BUDGETS, Run, system_named
from greymatch.bench.summary import Result
from greymatch.bench.view import View

ALL = "all"
METHODS = ("vgb-dm", "vbb-dm", "tfm", "physvae", "bb-node")
SEEDS = (0, 1, 2)
FIELDS = 20


@dataclass(frozen=True)
class Choice:
    """What is asked of every run of a benchmark; `data` are folders by system, `noise` levels of it."""

    systems: Sequence[str]
    methods: Sequence[str]
    seeds: Sequence[int]
    changes: Mapping[str, Any] = field(default_factory=dict)
    draws: int | None = None
    val: int | None = None
    test: int | None = None
    data: Mapping[str, Path] = field(default_factory=dict)
    noise: Sequence[float] = (0.0,)

    def run(self, system: str, method: str, seed: int, changes: Mapping[str, Any] | None = None, **more: Any) -> Run:
        """One run; what a variant changes, it changes on top of what the user set."""
        merged = {**self.changes, **(changes or {})}
        shared: dict[str, Any] = {"data": self.data.get(system)}
        shared |= {"val": self._fewer(system, self.val, 2), "test": self._fewer(system, self.test, 4)}
        return Run(system, method, seed, merged, self.draws, **shared | more)

    @staticmethod
    def _fewer(system: str, count: int | None, times: int) -> int | None:
        """Of fields so many times fewer: each has more numbers than many trajectories, and takes longer."""
        return max(1, count // times) if count and system_named(system).physics.grid else count

    def within(self, minutes: float) -> dict[str, Any]:
        """The budget of a benchmark that has many runs, unless the user set one."""
        return {} if self.changes.keys() & set(BUDGETS) else {"training.minutes": minutes}

    def judged_on(self, system: str) -> dict[str, Any]:
        """Part of the test split, of fields: to forecast all of them would take longer than to learn."""
        return {"test": self._fewer(system, self.test, 4) or FIELDS} if system_named(system).physics.grid else {}


@dataclass(frozen=True)
class Plan:
    """The runs, and what is left out with the reason."""

    runs: list[Run]
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Benchmark:
    """One command: `plan` gives the runs that a choice asks for, `view` what their results show.

    One without `methods` knows itself which it needs, one without `noise` has data without any.
    """

    name: str
    about: str
    view: Callable[[Sequence[Result]], View]
    plan: Callable[[Choice], Plan] = lambda choice: every(choice)
    systems: Sequence[str] = (ALL,)
    methods: Sequence[str] = METHODS
    seeds: Sequence[int] = SEEDS
    noise: Sequence[float] = ()


def every(choice: Choice, **more: Any) -> Plan:
    """Every combination, seed by seed so that a table cut short holds all methods."""
    runs = [
        choice.run(system, method, seed, **noisy(level), **more)
        for seed in choice.seeds
        for level in choice.noise
        for system in choice.systems
        for method in choice.methods
    ]
    return Plan(runs)


def noisy(level: float) -> dict[str, Any]:
    """What tells a run with so much noise from others."""
    return {"label": f"noise-{100 * level:g}", "noise": level} if level else {}
