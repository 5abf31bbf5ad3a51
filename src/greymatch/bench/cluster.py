"""Runs as tasks of a Dask cluster, here or elsewhere.

Each task is a program of its own on a worker, and its results are files: all machines must see the same folders.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greymatch.bench.jobs import Task, log_file, run_folder
from greymatch.bench.processes import launch
from greymatch.children import PATIENCE_SECONDS, finish
from greymatch.errors import GreymatchError

POLL_SECONDS = 0.2
CONNECT_SECONDS = 10
STOPPED, LOST = 130, 1
LOCAL = "local"


def carry_out(words: Sequence[str], out: str, folder: str, stop: str) -> int:
    """On a worker: run Python with `words` to its end, or until the file `stop` is there; the exit code."""
    asked = Path(stop)
    while _in_use(run_folder(Path(out))) and not asked.exists():
        time.sleep(POLL_SECONDS)  # the program of a worker that was lost is still writing its checkpoint
    if asked.exists():
        return STOPPED
    process = launch(words, Path(out), Path(folder))
    while process.poll() is None:
        if asked.exists():
            process.terminate()
            break
        time.sleep(POLL_SECONDS)
    return finish(process)


def _in_use(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    from greymatch.training.run import Lock

    try:
        with Lock(folder):
            return False
    except GreymatchError:
        return True


@dataclass(frozen=True)
class Remote:
    """A run handed to a cluster."""

    future: Any
    client: Any
    out: Path
    stopping: Path

    @property
    def begun(self) -> bool:
        return log_file(self.out).exists()

    def poll(self) -> int | None:
        if self.client.status == "closed":
            raise GreymatchError(
                "the connection to the Dask cluster was lost. Finished runs and checkpoints are kept: once the "
                "cluster is there again, the same command goes on."
            )
        if not self.future.done():
            return None
        return self.future.result() if self.future.status == "finished" else self._lost()

    def _lost(self) -> int:
        """The cluster gave the run up: several workers were lost with it, or none can run it."""
        error = self.future.exception() if self.future.status == "error" else "cancelled by the cluster"
        with log_file(self.out).open("a") as log:
            log.write(f"{type(error).__name__}: {error}\n")
        return LOST

    def stop(self) -> None:
        self.stopping.touch()
        if not self.begun:
            self.future.cancel()

    def end(self) -> None:
        from distributed import TimeoutError, wait

        if self.client.status == "running" and not self.future.done():
            with suppress(TimeoutError):
                wait(self.future, timeout=2 * PATIENCE_SECONDS)
        self.future.release()


@dataclass(frozen=True)
class Cluster:
    """Everything is handed over at once; the cluster's scheduler knows which worker is free."""

    client: Any
    key: str
    room: int = sys.maxsize
    stops: set[Path] = field(default_factory=set)

    def start(self, task: Task, out: Path) -> Remote:
        out = out.resolve()
        log_file(out).unlink(missing_ok=True)  # it shows that the run has begun
        stopping = out.parent / f".stop-{self.key}"
        self.stops.add(stopping)
        name = f"{task.name}-{uuid.uuid4().hex[:8]}"
        words = (task.words(out), str(out), str(Path.cwd()), str(stopping))
        # not pure: a run that is tried again is another task
        future = self.client.submit(carry_out, *words, key=name, pure=False)
        return Remote(future, self.client, out, stopping)


@contextmanager
def cluster(address: str, workers: int) -> Iterator[Cluster]:
    """`local`: so many worker processes here; else the address of a scheduler, or its scheduler file."""
    client = _client(address, workers)
    place = Cluster(client, uuid.uuid4().hex[:8])
    try:
        yield place
    finally:
        for path in place.stops:
            path.unlink(missing_ok=True)
        client.close()
        if address == LOCAL:
            client.cluster.close()


def _client(address: str, workers: int) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise GreymatchError(
            "`--dask` needs Dask's scheduler. Install it with: pip install 'greymatch[cluster]'"
        ) from None

    if address == LOCAL:
        return Client(_local(workers))
    where: dict[str, Any] = {"scheduler_file" if address.endswith(".json") else "address": address}
    try:
        return Client(**where, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise GreymatchError(
            f"`--dask` must be {LOCAL}, the address of a Dask scheduler (tcp://HOST:PORT) or its scheduler file; "
            f"{address!r} gave: {error}."
        ) from None


def _local(workers: int) -> Any:
    from distributed import LocalCluster

    with _deaf_to_ctrl_c():
        return LocalCluster(
            host="127.0.0.1",
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,  # what a run needs is not the worker's own
            dashboard_address="127.0.0.1:0",  # else 8787 on every network, which may be taken
            silence_logs=logging.ERROR,
        )


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started meanwhile do not hear Ctrl-C: they are stopped in good order instead."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
