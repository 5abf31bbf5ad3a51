"""Programs that this one starts: they end when it ends, and in good order."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

PATIENCE_SECONDS = 30.0
TIED = "GREYMATCH_TIED"


def finish(process: subprocess.Popen[bytes], patience: float = PATIENCE_SECONDS) -> int:
    """Wait for a program that was told to stop; one that hangs is killed."""
    try:
        code = process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if process.stdin is not None:
        process.stdin.close()
    return code


def end_with_parent() -> None:
    """Stop in good order once the process that started this program is gone, however it went.

    That process gave it a pipe as standard input and writes nothing to it: it closes when the process is gone.
    """
    if os.environ.pop(TIED, None):
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()


def _stop_at_end_of_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def most_memory() -> int:
    """Kilobytes that this program has held at the most. What `getrusage` tells of a child counts its parent, too."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    import resource  # not where Windows is

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
