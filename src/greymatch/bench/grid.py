"""Many runs, some at a time: what is there is kept, what fails is tried again, what is stopped goes on later."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greymatch.bench.jobs import Job, Place, Task, log_file, result_file, run_folder
from greymatch.bench.stored import left
from greymatch.bench.watch import Watch
from greymatch.training.interrupt import Interrupt

POLL_SECONDS = 0.2
TAIL = 5
RETRIES = 2
WRONG_INPUT = 2  # a run that ends so will end so again


@dataclass(frozen=True)
class Failure:
    """A run that left no result, and the end of its log."""

    run: Task
    code: int
    log: Path

    def text(self) -> str:
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        lines = said.strip().splitlines()[-TAIL:]
        return "\n    ".join([f"{self.run.name} failed (exit code {self.code}); its log is {self.log}", *lines])


def execute(runs: Sequence[Task], folder: Path, place: Place, watch: Watch) -> list[Failure]:
    """Do what is not done yet; Ctrl-C leaves checkpoints from which the same call goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [run for run in runs if run.stored(folder) is None]
    watch.begin(len(runs), len(runs) - len(missing))
    grid = _Grid(folder, place, watch, missing)
    with Interrupt() as interrupt:
        try:
            while grid.missing or grid.running:
                if interrupt.asked:
                    raise KeyboardInterrupt
                grid.advance()
                time.sleep(POLL_SECONDS)
        finally:
            grid.stop()
            watch.close()
    return grid.failures


@dataclass
class _Under:
    """A run under way; `shown` once the watch knows of it."""

    run: Task
    out: Path
    job: Job
    shown: bool = False


@dataclass
class _Grid:
    folder: Path
    place: Place
    watch: Watch
    missing: list[Task]
    running: list[_Under] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)

    def advance(self) -> None:
        """Hand over what there is room for, and look after what is under way."""
        while self.missing and len(self.running) < self.place.room:
            self._start(self.missing.pop(0))
        for one in list(self.running):
            self._show_if_begun(one)
            code = one.job.poll()
            if code is not None:
                self._end(one, code)
        self.watch.tick([(one.run, run_folder(one.out)) for one in self.running if one.shown])

    def stop(self) -> None:
        for one in self.running:
            one.job.stop()
        for one in self.running:
            one.job.end()

    def _start(self, run: Task) -> None:
        out = result_file(run, self.folder)
        self.tries[run.name] += 1
        self.running.append(_Under(run, out, self.place.start(run, out)))

    def _show_if_begun(self, one: _Under) -> None:
        if not one.shown and one.job.begun:
            one.shown = True
            self.watch.started(one.run)

    def _end(self, one: _Under, code: int) -> None:
        self._show_if_begun(one)
        one.job.end()
        self.running.remove(one)
        result = left(one.run, one.out, log_file(one.out)) if code == 0 else None
        if result is None and self._worth_another(one.run, code):
            self.watch.retried(one.run, code)
            self.missing.append(one.run)
        else:
            self._settle(one, code, result)

    def _settle(self, one: _Under, code: int, result: dict[str, Any] | None) -> None:
        if result is None:
            self.failures.append(Failure(one.run, code, log_file(one.out)))
        self.watch.ended(one.run, result)

    def _worth_another(self, run: Task, code: int) -> bool:
        """A run that says that its input is wrong, or leaves no result without a complaint, does so each time."""
        return code not in (0, WRONG_INPUT) and self.tries[run.name] <= RETRIES
