"""The grid, mostly with processes in place of runs, which do what a test asks of them."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greymatch.bench import grid
from greymatch.bench.grid import RETRIES, execute
from greymatch.bench.jobs import log_file, result_file
from greymatch.bench.plan import Run
from greymatch.bench.processes import Processes
from greymatch.bench.stored import stored
from greymatch.bench.watch import Silent

RUNS = [Run("pendulum", "gb-dm", seed) for seed in range(4)]
SLEEPY = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("bye"), sys.exit(130)))
print("up", flush=True)
time.sleep(60)
"""
Fake = Callable[[Callable[[Run, Path], str]], None]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Let each run be a Python program of the test's making."""

    def put(program: Callable[[Run, Path], str]) -> None:
        monkeypatch.setattr(Run, "words", lambda run, out: ["-S", "-c", program(run, out)])
        monkeypatch.setattr(grid, "POLL_SECONDS", 0.02)

    return put


def good(run: Run, out: Path) -> str:
    return f"open({str(out)!r}, 'w').write({json.dumps({**run.asked(), 'scores': {'mse': 1.0}})!r})"


def test_the_real_program_is_told_what_to_run_and_logs_what_it_says(tmp_path: Path) -> None:
    (failure,) = execute([Run("no_such_system", "gb-dm", 0)], tmp_path, Processes(64), Silent())
    assert failure.code == 2
    assert "got 'no_such_system'" in failure.text()


def test_a_run_that_fails_takes_no_other_with_it(fake: Fake, tmp_path: Path) -> None:
    fake(lambda run, out: "print('no luck'); raise SystemExit(3)" if run.seed == 1 else good(run, out))
    (failure,) = execute(RUNS, tmp_path, Processes(2), Silent())
    assert (failure.run, failure.code) == (RUNS[1], 3)
    assert str(failure.log) in failure.text()
    assert "no luck" in failure.text()
    assert [stored(run, tmp_path) is not None for run in RUNS] == [True, False, True, True]


def test_a_run_that_writes_no_result_has_failed(fake: Fake, tmp_path: Path) -> None:
    fake(lambda run, out: "pass")
    assert len(execute(RUNS[:1], tmp_path, Processes(1), Silent())) == 1


def test_a_run_that_writes_the_result_of_another_has_failed_alone(fake: Fake, tmp_path: Path) -> None:
    fake(lambda run, out: good(Run("pendulum", "gb-dm", 9) if run.seed == 0 else run, out))
    (failure,) = execute(RUNS[:2], tmp_path, Processes(1), Silent())
    assert failure.run == RUNS[0]
    assert "is of another run: settings differ" in failure.text()


def test_what_is_there_is_not_done_again(fake: Fake, tmp_path: Path) -> None:
    fake(good)
    assert execute(RUNS[:3], tmp_path, Processes(2), Silent()) == []
    started: list[Run] = []
    fake(lambda run, out: (started.append(run), good(run, out))[1])
    assert execute(RUNS, tmp_path, Processes(2), Silent()) == []
    assert started == RUNS[3:]


def test_no_more_than_jobs_at_a_time(fake: Fake, tmp_path: Path) -> None:
    seen: list[int] = []

    class Counting(Silent):
        def tick(self, running: Any) -> None:
            seen.append(len(running))

    fake(good)
    execute(RUNS, tmp_path, Processes(2), Counting())
    assert max(seen) <= 2


def test_ctrl_c_stops_every_run_in_good_order(fake: Fake, tmp_path: Path) -> None:
    logs = [log_file(result_file(run, tmp_path)) for run in RUNS[:2]]

    class Impatient(Silent):
        def tick(self, running: Any) -> None:
            if all(log.exists() and "up" in log.read_text() for log in logs):
                signal.raise_signal(signal.SIGINT)

    fake(lambda run, out: SLEEPY)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        execute(RUNS, tmp_path, Processes(2), Impatient())
    assert time.monotonic() - began < 20
    assert [log.read_text().split() for log in logs] == [["up", "bye"]] * 2
    assert not log_file(result_file(RUNS[2], tmp_path)).exists()


def test_a_failed_run_is_tried_again_and_wrong_input_is_not(fake: Fake, tmp_path: Path) -> None:
    started: list[Run] = []
    fake(lambda run, out: (started.append(run), good(run, out) if len(started) > 2 else "raise SystemExit(3)")[1])
    assert execute(RUNS[:1], tmp_path, Processes(1), Silent()) == []
    assert started == RUNS[:1] * (1 + RETRIES)
    fake(lambda run, out: (started.append(run), "raise SystemExit(2)")[1])
    (failure,) = execute(RUNS[1:2], tmp_path, Processes(1), Silent())
    assert (failure.code, started.count(RUNS[1])) == (2, 1)
