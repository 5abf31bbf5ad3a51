"""Many runs, some at a time, each in a process of its own: a run that fails takes no other with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from greymatch.bench.plan import FORMAT, Run
from greymatch.bench.run import run_folder
from greymatch.bench.watch import Watch
from greymatch.errors import GreymatchError
from greymatch.training.interrupt import Interrupt

POLL_SECONDS, PATIENCE_SECONDS = 0.2, 30.0
TAIL = 5
BEFORE_SETTLING = {"settle": 0.0}  # what a result that does not speak of it was made with
THREADS = 1  # of a run: equal time is then equal work, whatever else runs beside it


@dataclass(frozen=True)
class Failure:
    """A run that left no result, and the end of its log."""

    run: Run
    code: int
    log: Path

    def text(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()[-TAIL:]
        return "\n    ".join([f"{self.run.name} failed (exit code {self.code}); its log is {self.log}", *lines])


@dataclass(frozen=True)
class Job:
    """A run under way."""

    run: Run
    out: Path
    log: IO[bytes]
    process: subprocess.Popen[bytes]

    @staticmethod
    def start(run: Run, out: Path, threads: int) -> Job:
        log = log_file(out).open("wb")
        words = [sys.executable, "-m", "greymatch.bench.run", *run.arguments(), "--threads", str(threads)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
        # a session of its own: Ctrl-C reaches this process alone, which then stops each run in good order
        process = subprocess.Popen(
            [*words, "--out", str(out)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        return Job(run, out, log, process)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()

    def end(self) -> None:
        """Wait for a stopped run to write its checkpoint; one that hangs is killed."""
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def log_file(out: Path) -> Path:
    return out.with_suffix(".log")


def result_file(run: Run, folder: Path) -> Path:
    return folder / f"{run.name}.json"


def stored(run: Run, folder: Path) -> dict[str, Any] | None:
    """The result of this very run if it is there; one of the same name but other settings is refused."""
    path = result_file(run, folder)
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text())
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise GreymatchError(
            f"{str(path)!r} is not the result of a run. Delete it, or start over with --fresh."
        ) from None
    if found.get("format") != FORMAT:
        raise GreymatchError(
            f"{str(path)!r} was written by another version of greymatch and lacks what the benchmarks show. "
            "Replace it with --fresh, or choose another --out."
        )
    complete = _completed(found)
    differing = [key for key, value in run.asked().items() if complete.get(key) != value]
    if differing:
        raise GreymatchError(
            f"{str(path)!r} is of another run: {', '.join(differing)} differ. "
            "Choose another --out, or replace the old results with --fresh."
        )
    return found


def _completed(found: dict[str, Any]) -> dict[str, Any]:
    """A result with the settings that came to be after it was written, at what they were worth then."""
    from greymatch.methods import METHODS
    from greymatch.settings import Settings

    method, settings = METHODS.get(found.get("method", "")), found.get("settings")
    if method is None or not isinstance(settings, dict):
        return found
    if method.objective == "matching":
        settings = {**settings, "training": {**BEFORE_SETTLING, **settings.get("training", {})}}
    try:
        return {**found, "settings": Settings(**settings).model_dump(mode="json")}
    except GreymatchError:
        return found


def execute(runs: Sequence[Run], folder: Path, jobs: int, watch: Watch) -> list[Failure]:
    """Do what is not done yet, `jobs` at a time; Ctrl-C leaves checkpoints from which the same call goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [run for run in runs if stored(run, folder) is None]
    watch.begin(len(runs), len(runs) - len(missing))
    running: list[Job] = []
    failures: list[Failure] = []
    with Interrupt() as interrupt:
        try:
            while missing or running:
                if interrupt.asked:
                    raise KeyboardInterrupt
                while missing and len(running) < jobs:
                    running.append(_start(missing.pop(0), folder, watch))
                running = [job for job in running if not _ended(job, failures, watch)]
                watch.tick([(job.run, run_folder(job.out)) for job in running])
                time.sleep(POLL_SECONDS)
        finally:
            _each(running, Job.stop)
            _each(running, Job.end)
            watch.close()
    return failures


def _start(run: Run, folder: Path, watch: Watch) -> Job:
    watch.started(run)
    return Job.start(run, result_file(run, folder), THREADS)


def _ended(job: Job, failures: list[Failure], watch: Watch) -> bool:
    code = job.process.poll()
    if code is None:
        return False
    job.end()
    result = _left(job) if code == 0 else None
    if result is None:
        failures.append(Failure(job.run, code, log_file(job.out)))
    watch.ended(job.run, result)
    return True


def _left(job: Job) -> dict[str, Any] | None:
    """The result that a run left; one that is not what was asked for, as after a change of the source, is none."""
    try:
        return stored(job.run, job.out.parent)
    except GreymatchError as error:
        with log_file(job.out).open("a") as log:
            log.write(f"{error}\n")
        return None


def _each(jobs: list[Job], action: Callable[[Job], None]) -> None:
    for job in jobs:
        action(job)
