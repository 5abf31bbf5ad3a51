from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from greymatch.children import TIED, finish, most_memory

TIED_PROGRAM = """
import signal, sys, time
from greymatch.children import end_with_parent
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
end_with_parent()
print("up", flush=True)
time.sleep(60)
"""


def started(program: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", program]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, TIED: "1"})


def test_a_program_stops_in_good_order_when_its_parent_is_gone() -> None:
    process = started(TIED_PROGRAM)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.stdin.close()  # as the system does for a process that is gone
    assert finish(process) == 7
    process.stdout.close()


def test_a_program_that_hangs_is_killed() -> None:
    process = started("import time; time.sleep(60)")
    assert finish(process, patience=0.1) == -9
    assert process.stdout is not None
    process.stdout.close()


def test_memory_of_a_child_is_not_that_of_its_parent() -> None:
    ballast = np.ones(2**25)  # 256 MB
    program = "from greymatch.children import most_memory; print(most_memory())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 1e3 < int(done.stdout) < ballast.nbytes / 1024
    assert most_memory() > ballast.nbytes / 1024
