"""Runs as programs of their own, on this machine: a run that fails takes no other with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from greymatch.bench.jobs import Task, log_file
from greymatch.children import TIED, finish

THREADS = 1  # of a run: equal time is then equal work, whatever else runs beside it


def launch(words: Sequence[str], out: Path, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start Python with `words`, what it says going to the log of `out`."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "PYTHONUNBUFFERED": "1", TIED: "1"}
    with log_file(out).open("wb") as log:
        # a session of its own: Ctrl-C reaches this process alone, which then stops each run in good order
        return subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.PIPE,  # nothing is ever written: it closes when this process is gone
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )


@dataclass(frozen=True)
class Process:
    """A run under way in a process of this machine."""

    process: subprocess.Popen[bytes]

    @property
    def begun(self) -> bool:
        return True

    def poll(self) -> int | None:
        return self.process.poll()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()

    def end(self) -> None:
        finish(self.process)


@dataclass(frozen=True)
class Processes:
    """So many at a time on this machine."""

    room: int

    def start(self, task: Task, out: Path) -> Process:
        return Process(launch(task.words(out), out))
