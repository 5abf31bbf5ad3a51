"""What one run of a benchmark is, before it is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from greymatch.errors import GreymatchError, did_you_mean

if TYPE_CHECKING:
    from greymatch.settings import Settings
    from greymatch.systems.system import System


@dataclass(frozen=True)
class Run:
    """One method on one system with one seed; `changes` are dotted settings put on top of the system's preset.

    `trajectories` cuts every split down to so many, for trials whose numbers mean nothing.
    """

    system: str
    method: str
    seed: int
    changes: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 100
    trajectories: int | None = None

    @property
    def name(self) -> str:
        return f"{self.system}-{self.method}-{self.seed}"

    def settings(self) -> Settings:
        """The settings of the fit, whole: the budget too is stated."""
        from greymatch.methods import method_named
        from greymatch.training.fit import DEFAULT_MINUTES

        method_named(self.method)
        chosen = system_named(self.system).settings(self.method)
        chosen = chosen.updated({**self.changes, "training.seed": self.seed})
        if chosen.training.minutes is None and chosen.training.steps is None:
            chosen = chosen.updated({"training.minutes": DEFAULT_MINUTES})
        return chosen

    def asked(self) -> dict[str, Any]:
        """What a result must agree with to be the result of this run."""
        return {
            "system": self.system,
            "method": self.method,
            "draws": self.draws,
            "trajectories": self.trajectories,
            "settings": self.settings().model_dump(mode="json"),
        }

    def arguments(self) -> list[str]:
        """The arguments of `python -m greymatch.bench.run` that make this run."""
        words = ["--system", self.system, "--method", self.method, "--seed", str(self.seed), "--draws", str(self.draws)]
        words += ["--changes", json.dumps(dict(self.changes))] if self.changes else []
        words += ["--trajectories", str(self.trajectories)] if self.trajectories is not None else []
        return words


def system_named(name: str) -> System:
    from greymatch.systems import SYSTEMS

    if name not in SYSTEMS:
        raise GreymatchError(f"`system` must be one of {list(SYSTEMS)}; got {name!r}.{did_you_mean(name, SYSTEMS)}")
    return SYSTEMS[name]
