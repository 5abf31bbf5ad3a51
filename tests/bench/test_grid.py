"""The grid, mostly with processes in place of runs, which do what a test asks of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greymatch.bench import grid
from greymatch.bench.grid import Job, execute, log_file, result_file, stored
from greymatch.bench.plan import Run
from greymatch.bench.watch import Silent
from greymatch.errors import GreymatchError

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
        def start(run: Run, out: Path, threads: int) -> Job:
            log = log_file(out).open("wb")
            words = [sys.executable, "-S", "-c", program(run, out)]
            process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            return Job(run, out, log, process)

        monkeypatch.setattr(Job, "start", start)
        monkeypatch.setattr(grid, "POLL_SECONDS", 0.02)

    return put


def good(run: Run, out: Path) -> str:
    return f"open({str(out)!r}, 'w').write({json.dumps({**run.asked(), 'scores': {'mse': 1.0}})!r})"


def test_the_real_program_is_told_what_to_run_and_logs_what_it_says(tmp_path: Path) -> None:
    (failure,) = execute([Run("no_such_system", "gb-dm", 0)], tmp_path, 64, Silent())
    assert failure.code == 2
    assert "got 'no_such_system'" in failure.text()


def test_a_run_that_fails_takes_no_other_with_it(fake: Fake, tmp_path: Path) -> None:
    fake(lambda run, out: "print('no luck'); raise SystemExit(3)" if run.seed == 1 else good(run, out))
    (failure,) = execute(RUNS, tmp_path, 2, Silent())
    assert (failure.run, failure.code) == (RUNS[1], 3)
    assert str(failure.log) in failure.text()
    assert "no luck" in failure.text()
    assert [stored(run, tmp_path) is not None for run in RUNS] == [True, False, True, True]


def test_a_run_that_writes_no_result_has_failed(fake: Fake, tmp_path: Path) -> None:
    fake(lambda run, out: "pass")
    assert len(execute(RUNS[:1], tmp_path, 1, Silent())) == 1


def test_a_run_that_writes_the_result_of_another_has_failed_alone(fake: Fake, tmp_path: Path) -> None:
    fake(lambda run, out: good(Run("pendulum", "gb-dm", 9) if run.seed == 0 else run, out))
    (failure,) = execute(RUNS[:2], tmp_path, 1, Silent())
    assert failure.run == RUNS[0]
    assert "is of another run: settings differ" in failure.text()


def test_what_is_there_is_not_done_again(fake: Fake, tmp_path: Path) -> None:
    fake(good)
    assert execute(RUNS[:3], tmp_path, 2, Silent()) == []
    started: list[Run] = []
    fake(lambda run, out: (started.append(run), good(run, out))[1])
    assert execute(RUNS, tmp_path, 2, Silent()) == []
    assert started == RUNS[3:]


def test_no_more_than_jobs_at_a_time(fake: Fake, tmp_path: Path) -> None:
    seen: list[int] = []

    class Counting(Silent):
        def tick(self, running: Any) -> None:
            seen.append(len(running))

    fake(good)
    execute(RUNS, tmp_path, 2, Counting())
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
        execute(RUNS, tmp_path, 2, Impatient())
    assert time.monotonic() - began < 20
    assert [log.read_text().split() for log in logs] == [["up", "bye"]] * 2
    assert not log_file(result_file(RUNS[2], tmp_path)).exists()


def test_a_result_of_other_settings_is_refused(tmp_path: Path) -> None:
    other = Run("pendulum", "gb-dm", 0, {"residual.width": 8}, draws=7)
    result_file(other, tmp_path).write_text(json.dumps(other.asked()))
    assert stored(other, tmp_path) is not None
    with pytest.raises(GreymatchError, match="draws, settings differ"):
        stored(RUNS[0], tmp_path)


def test_a_result_of_another_version_is_refused(tmp_path: Path) -> None:
    old = {key: value for key, value in RUNS[0].asked().items() if key != "format"}
    result_file(RUNS[0], tmp_path).write_text(json.dumps(old))
    with pytest.raises(GreymatchError, match="written by another version"):
        stored(RUNS[0], tmp_path)


@pytest.mark.parametrize(("method", "counts"), [("vgb-dm", False), ("tfm", True)])
def test_a_result_from_before_settling_is_of_another_method_if_that_settles(
    method: str, counts: bool, tmp_path: Path
) -> None:
    run = Run("pendulum", method, 0)
    found = json.loads(json.dumps(run.asked()))
    del found["settings"]["training"]["settle"]
    result_file(run, tmp_path).write_text(json.dumps(found))
    if counts:
        assert stored(run, tmp_path) is not None
    else:
        with pytest.raises(GreymatchError, match="settings differ"):
            stored(run, tmp_path)


def test_a_setting_that_came_later_had_its_default(tmp_path: Path) -> None:
    old = RUNS[0].asked()
    del old["settings"]["encoder"]["stencil"]
    result_file(RUNS[0], tmp_path).write_text(json.dumps(old))
    assert stored(RUNS[0], tmp_path) is not None
    old["settings"]["encoder"]["stencil"] = 3
    result_file(RUNS[0], tmp_path).write_text(json.dumps(old))
    with pytest.raises(GreymatchError, match="settings differ"):
        stored(RUNS[0], tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, content: str) -> None:
    result_file(RUNS[0], tmp_path).write_text(content)
    with pytest.raises(GreymatchError, match="is not the result of a run"):
        stored(RUNS[0], tmp_path)
