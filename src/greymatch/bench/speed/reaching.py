"""How long a fit takes to reach a given validation error, from the curves of runs that are there."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from greymatch.bench.views.convergence import seconds_to
from greymatch.systems import SYSTEMS

METHOD = "vgb-dm"


@dataclass(frozen=True)
class Reached:
    """Seconds of a core until the validation MSE was at most `target`, in those runs that got there."""

    system: str
    target: float
    runs: int
    seconds: list[float]

    @property
    def middle(self) -> float | None:
        """Median over all runs; None if half of them never got there."""
        return statistics.median(self.seconds) if 2 * len(self.seconds) > self.runs else None


def reaching(folder: Path) -> Iterator[Reached]:
    """The paper's error, by each system that has runs in `folder`."""
    for system in SYSTEMS.values():
        target, curves = system.paper_mse.get(METHOD), [run["curve"] for run in _runs(folder, system.name)]
        if target is not None and curves:
            times = [seconds_to(curve, target) for curve in curves]
            yield Reached(system.name, target, len(curves), [time for time in times if time is not None])


def _runs(folder: Path, system: str) -> Iterator[Mapping[str, Any]]:
    """Runs of the preset as it is: no variant, all trajectories, no noise."""
    for path in sorted(folder.glob(f"{system}-{METHOD}-*.json")):
        run = json.loads(path.read_text())
        if run.get("system") == system and not (run.get("label") or run.get("noise") or run.get("explain")):
            yield run
