"""Runs as programs of their own, on this machine: a run that fails takes no other with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from greymatch.bench.jobs import Task, log_file

PATIENCE_SECONDS = 30.0
THREADS = 1  # of a run: equal time is then equal work, whatever else runs beside it
TIED = "GREYMATCH_TIED"


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


def finish(process: subprocess.Popen[bytes]) -> int:
    """Wait for a program that was told to stop; one that hangs is killed."""
    try:
        code = process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if process.stdin is not None:
        process.stdin.close()
    return code


def end_with_parent() -> None:
    """Stop in good order once the process that launched this program is gone, however it went."""
    if os.environ.pop(TIED, None):
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()


def _stop_at_end_of_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


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
