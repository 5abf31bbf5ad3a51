"""What one run of a benchmark is, before it is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.errors import GreymatchError, did_you_mean

if TYPE_CHECKING:
    from greymatch.settings import Settings
    from greymatch.systems.system import System

FORMAT = 2  # of the result file; what was written in another is not read
DRAWS, GRID_DRAWS = 100, 20  # fewer than 19 draws have no 90 % interval
BUDGETS = ("training.minutes", "training.steps")


@dataclass(frozen=True)
class Run:
    """One method on one system with one seed; `changes` are dotted settings put on top of the system's preset.

    `label` tells variants of a run apart. `train`, `val` and `test` cut those splits down to their first so many
    trajectories (the last two only if they have more). `data` is a folder with files that replace simulated splits.
    `draws` is how many members a forecast has; None is what suits the system. `noise` is put on all observations, in
    units of each state's spread. With `explain`, what the model says was missing is judged too.
    """

    system: str
    method: str
    seed: int
    changes: Mapping[str, Any] = field(default_factory=dict)
    draws: int | None = None
    label: str = ""
    train: int | None = None
    val: int | None = None
    test: int | None = None
    data: Path | None = None
    noise: float = 0.0
    explain: bool = False

    @property
    def name(self) -> str:
        given, kind = "data" if self.data else "", "explain" if self.explain else ""
        return "-".join(part for part in (self.system, self.method, kind, self.label, given, str(self.seed)) if part)

    def settings(self) -> Settings:
        """The settings of the fit, whole: the budget too is stated, in time of one core, so that a run is the same
        on a busy machine."""
        from greymatch.methods import method_named
        from greymatch.training.fit import DEFAULT_MINUTES

        method_named(self.method)
        chosen = system_named(self.system).settings(self.method).updated({"training.clock": "processor"})
        if self.changes.keys() & BUDGETS:  # one budget takes the place of the other
            chosen = chosen.updated(dict.fromkeys(BUDGETS))
        chosen = chosen.updated({**self.changes, "training.seed": self.seed})
        if chosen.training.minutes is None and chosen.training.steps is None:
            chosen = chosen.updated({"training.minutes": DEFAULT_MINUTES})
        return chosen

    @property
    def members(self) -> int:
        """Draws of a forecast: fewer of a field, so that scoring it does not take longer than learning it."""
        return self.draws or (GRID_DRAWS if system_named(self.system).physics.grid else DRAWS)

    def asked(self) -> dict[str, Any]:
        """What a result must agree with to be the result of this run."""
        from greymatch.bench.splits import digests

        return {
            "format": FORMAT,
            "system": self.system,
            "method": self.method,
            "label": self.label,
            "draws": self.members,
            "train": self.train,
            "val": self.val,
            "test": self.test,
            "data": digests(self.data),
            "settings": self.settings().model_dump(mode="json"),
            **{name: getattr(self, name) for name in ("noise", "explain") if getattr(self, name)},
        }

    def stored(self, folder: Path) -> dict[str, Any] | None:
        """Its result in `folder`, None if there is none."""
        from greymatch.bench.stored import stored

        return stored(self, folder)

    def told(self, result: Mapping[str, Any]) -> str:
        from greymatch.bench.watch import number

        return f"forecast MSE {number(result['scores']['mse'])}"

    def words(self, out: Path) -> list[str]:
        """What Python is told to make this run."""
        from greymatch.bench.processes import THREADS

        return ["-m", "greymatch.bench.run", *self.arguments(), "--threads", str(THREADS), "--out", str(out)]

    def arguments(self) -> list[str]:
        """The arguments of `python -m greymatch.bench.run` that make this run."""
        words = ["--system", self.system, "--method", self.method, "--seed", str(self.seed)]
        words += ["--changes", json.dumps(dict(self.changes))] if self.changes else []
        more = {name: getattr(self, name) for name in ("draws", "label", "train", "val", "test", "data", "noise")}
        words += [word for name, value in more.items() if value for word in (f"--{name}", str(value))]
        return [*words, "--explain"] if self.explain else words


def system_named(name: str) -> System:
    from greymatch.systems import SYSTEMS

    if name not in SYSTEMS:
        raise GreymatchError(f"`system` must be one of {list(SYSTEMS)}; got {name!r}.{did_you_mean(name, SYSTEMS)}")
    return SYSTEMS[name]
