"""Programs in place of runs, on a Dask cluster of this machine."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from greymatch.bench.cluster import Cluster, cluster
from greymatch.bench.grid import execute
from greymatch.bench.jobs import log_file, result_file
from greymatch.bench.plan import Run
from greymatch.bench.watch import Silent
from greymatch.errors import GreymatchError

RUNS = [Run("pendulum", "gb-dm", seed) for seed in range(3)]
# the first time it waits, tied to its worker; later it leaves its result
TIED = """
import os, signal, sys, time
from greymatch.children import end_with_parent
signal.signal(signal.SIGTERM, lambda *_: (print("bye", flush=True), sys.exit(130)))
end_with_parent()
first = {first!r}
if not os.path.exists(first):
    open(first, "w").write(str(os.getpid()))
    time.sleep(120)
{then}
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Cluster]:
    with cluster("local", 1) as found:
        yield found


def good(run: Run, out: Path) -> str:
    return f"open({str(out)!r}, 'w').write({json.dumps({**run.asked(), 'scores': {'mse': 1.0}})!r})"


def program(monkeypatch: pytest.MonkeyPatch, first: Path) -> None:
    """Let the run of seed 1 be the one that waits for something to happen."""

    def words(run: Run, out: Path) -> list[str]:
        return ["-c", TIED.format(first=str(first), then=good(run, out)) if run.seed == 1 else good(run, out)]

    monkeypatch.setattr(Run, "words", words)


class When(Silent):
    """Does something once, when the run that waits is there."""

    def __init__(self, first: Path, action: Any) -> None:
        self.first, self.action, self.done = first, action, False

    def tick(self, running: Any) -> None:
        if not self.done and self.first.exists() and self.first.read_text():
            self.done = True
            self.action()


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_a_worker_killed_in_the_middle_loses_no_run(
    place: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, killed = tmp_path / "first", []

    def kill() -> None:
        (pid,) = place.client.run(os.getpid).values()
        killed.append(pid)
        os.kill(pid, signal.SIGKILL)

    program(monkeypatch, first)
    assert execute(RUNS, tmp_path, place, When(first, kill)) == []
    assert killed
    assert all(run.stored(tmp_path) is not None for run in RUNS)
    assert gone(int(first.read_text()))  # its program ended with the worker


def test_ctrl_c_stops_in_good_order_and_the_same_call_goes_on(
    place: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first"
    program(monkeypatch, first)
    with pytest.raises(KeyboardInterrupt):
        execute(RUNS, tmp_path, place, When(first, lambda: signal.raise_signal(signal.SIGINT)))
    assert "bye" in log_file(result_file(RUNS[1], tmp_path)).read_text()
    assert RUNS[0].stored(tmp_path) is not None
    assert RUNS[1].stored(tmp_path) is None
    for path in tmp_path.glob(".stop-*"):
        path.unlink()  # as the end of a command does
    assert execute(RUNS, tmp_path, place, Silent()) == []


def test_what_fails_on_a_worker_is_reported_with_its_log(
    place: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "words", lambda run, out: ["-S", "-c", "print('no luck'); raise SystemExit(3)"])
    (failure,) = execute(RUNS[:1], tmp_path, place, Silent())
    assert failure.code == 3
    assert "no luck" in failure.text()


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greymatch.bench.cluster.CONNECT_SECONDS", 0.2)
    with pytest.raises(GreymatchError, match="address of a Dask scheduler"), cluster("tcp://127.0.0.1:9", 1):
        pass
