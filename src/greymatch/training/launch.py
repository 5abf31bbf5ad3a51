"""Several processes of one program on this machine, as torchrun would start them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from greymatch.children import PATIENCE_SECONDS, TIED, finish
from greymatch.training.interrupt import Interrupt

POLL_SECONDS = 0.1
TAIL = 5
HERE = "127.0.0.1"


@dataclass(frozen=True)
class Ended:
    """How the processes ended; `fallen` is the first that did not end well."""

    codes: list[int]
    fallen: int | None
    log: Path | None

    def text(self) -> str:
        """What happened to the one that fell, and its last words."""
        code = self.codes[self.fallen or 0]
        how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
        told = [f"process {(self.fallen or 0) + 1} of {len(self.codes)} {how}, and the others were stopped."]
        if self.log is not None and self.log.exists():
            told += self.log.read_text(errors="replace").strip().splitlines()[-TAIL:]
        return "\n    ".join(told)


def launch(words: Sequence[str], count: int, folder: Path) -> Ended:
    """Run Python with `words` in `count` processes; the first is heard, the others write logs in `folder`.

    When one falls the others are stopped; Ctrl-C stops all of them and is raised once they have written their state.
    """
    logs = [_log(folder, rank) for rank in range(count)]
    port = _free_port()
    with ExitStack() as files, Interrupt() as interrupt:
        outs = [None if log is None else files.enter_context(log.open("wb")) for log in logs]
        processes = [
            subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL if out is None else out,
                stderr=None if out is None else subprocess.STDOUT,
                env={**os.environ, **_told(rank, count, port)},
                start_new_session=True,  # Ctrl-C reaches this process alone, which passes it on
            )
            for rank, out in enumerate(outs)
        ]
        fallen = _watch(processes, interrupt)
        codes = [finish(process) for process in processes]
    if interrupt.asked:
        raise KeyboardInterrupt
    for log in logs if fallen is None else ():
        if log is not None:
            log.unlink(missing_ok=True)
    return Ended(codes, fallen, None if fallen is None else logs[fallen])


def _watch(processes: Sequence[subprocess.Popen[bytes]], interrupt: Interrupt) -> int | None:
    """Until all have ended, one has fallen or the user stops them; which one fell first."""
    while any(process.poll() is None for process in processes):
        fallen = next((rank for rank, process in enumerate(processes) if process.poll()), None)
        if fallen is not None or interrupt.asked:
            _stop(processes, 0.0 if interrupt.asked else PATIENCE_SECONDS / 3)
            return fallen
        time.sleep(POLL_SECONDS)
    return next((rank for rank, process in enumerate(processes) if process.returncode), None)


def _stop(processes: Sequence[subprocess.Popen[bytes]], patience: float) -> None:
    """After a while in which they may find out themselves that one of them is gone."""
    until = time.monotonic() + patience
    while time.monotonic() < until and any(process.poll() is None for process in processes):
        time.sleep(POLL_SECONDS)
    for process in processes:
        if process.poll() is None:
            process.terminate()


def _told(rank: int, count: int, port: int) -> dict[str, str]:
    """The environment of a process, in torchrun's words."""
    cores = os.cpu_count() or 1
    return {
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, cores // count))),
        "MASTER_ADDR": HERE,
        "MASTER_PORT": str(port),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "GROUP_RANK": "0",
        "TORCHELASTIC_RUN_ID": "greymatch",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        TIED: "1",
    }


def _log(folder: Path, rank: int) -> Path | None:
    return folder / f"process-{rank + 1}.log" if rank else None


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HERE, 0))
        return int(found.getsockname()[1])
