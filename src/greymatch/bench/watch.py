"""How a grid of runs is shown: bars on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from greymatch.bench.jobs import Task

METRICS = "metrics.jsonl"


class Watch(Protocol):
    """Told of everything that happens in a grid."""

    def begin(self, total: int, reused: int) -> None: ...

    def started(self, run: Task) -> None: ...

    def ended(self, run: Task, result: dict[str, Any] | None) -> None: ...

    def retried(self, run: Task, code: int) -> None: ...

    def tick(self, running: Sequence[tuple[Task, Path]]) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def begin(self, total: int, reused: int) -> None:
        return None

    def started(self, run: Task) -> None:
        return None

    def ended(self, run: Task, result: dict[str, Any] | None) -> None:
        return None

    def retried(self, run: Task, code: int) -> None:
        return None

    def tick(self, running: Sequence[tuple[Task, Path]]) -> None:
        return None

    def close(self) -> None:
        return None


class Lines(Silent):
    """A line for each start and end, for logs."""

    def begin(self, total: int, reused: int) -> None:
        self._total, self._done, self._began = total, reused, time.monotonic()
        self._say(f"{total} runs, {reused} of them already there")

    def started(self, run: Task) -> None:
        self._say(f"start {run.name}")

    def ended(self, run: Task, result: dict[str, Any] | None) -> None:
        self._done += 1
        self._say(
            f"[{self._done}/{self._total}] {run.name}: {outcome(run, result)} ({time.monotonic() - self._began:.0f} s)"
        )

    def retried(self, run: Task, code: int) -> None:
        self._say(again(run, code))

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Bars:
    """One bar for the grid and one for each run under way."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(30),
            TextColumn("{task.fields[said]}"),
            TimeElapsedColumn(),
        )
        self._bars = Progress(*columns, console=console)
        self._tasks: dict[str, TaskID] = {}

    def begin(self, total: int, reused: int) -> None:
        self._all = self._bars.add_task("all runs", total=total, completed=reused, said=f"{reused}/{total}")
        self._total, self._done = total, reused
        self._bars.start()

    def started(self, run: Task) -> None:
        self._tasks[run.name] = self._bars.add_task(run.name, total=1.0, said="starting")

    def ended(self, run: Task, result: dict[str, Any] | None) -> None:
        self._done += 1
        self._bars.update(self._all, completed=self._done, said=f"{self._done}/{self._total}")
        self._leave(run, f"{run.name}: {outcome(run, result)}")

    def retried(self, run: Task, code: int) -> None:
        self._leave(run, again(run, code))

    def _leave(self, run: Task, words: str) -> None:
        if run.name in self._tasks:
            self._bars.remove_task(self._tasks.pop(run.name))
        self._bars.console.print(words, highlight=False)

    def tick(self, running: Sequence[tuple[Task, Path]]) -> None:
        for run, folder in running:
            done, said = standing(run, folder / METRICS)
            self._bars.update(self._tasks[run.name], completed=done, said=said)

    def close(self) -> None:
        self._bars.stop()


def watch(quiet: bool) -> Watch:
    """The watch that suits where standard error goes."""
    if quiet:
        return Silent()
    console = Console(stderr=True)
    return Bars(console) if console.is_terminal else Lines()


def outcome(run: Task, result: dict[str, Any] | None) -> str:
    return "failed" if result is None else run.told(result)


def again(run: Task, code: int) -> str:
    return f"{run.name}: failed with exit code {code}; it is tried again"


def number(value: float | None) -> str:
    """Three digits; what JSON could not hold was infinite or undefined."""
    return "–" if value is None else f"{value:.2e}" if 0 < abs(value) < 1e-2 else f"{value:.3g}"


def standing(run: Task, metrics: Path) -> tuple[float, str]:
    """The part of its budget a run has used, and its last forecast error, from the metrics it writes."""
    lines = _last_lines(metrics)
    if not lines:
        return 0.0, "starting"
    budget = run.settings().training
    last = lines[-1]
    by_steps = last["step"] / budget.steps if budget.steps else 0.0
    by_clock = last["elapsed"] / (60 * budget.minutes) if budget.minutes else 0.0
    errors = [line["forecast_mse"] for line in lines if "forecast_mse" in line]
    return min(1.0, max(by_steps, by_clock)), f"forecast MSE {number(errors[-1])}" if errors else "training"


def _last_lines(path: Path, most: int = 65536) -> list[dict[str, Any]]:
    """The whole lines at the end of a file that is being written."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most))
        lines = file.read().decode(errors="replace").split("\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
