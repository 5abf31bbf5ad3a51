"""What the user sees of long work: a live bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

_LINES = 10  # for each piece of work, where there is no bar


class Meter(Protocol):
    """Shows pieces of work, one after the other."""

    def begin(self, name: str, total: int | None, done: int = 0) -> None: ...

    def advance(self, by: int) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def begin(self, name: str, total: int | None, done: int = 0) -> None:
        return None

    def advance(self, by: int) -> None:
        return None

    def close(self) -> None:
        return None


class Lines:
    """A line at every tenth, for logs."""

    def __init__(self) -> None:
        self._name, self._total, self._done = "", 0, 0

    def begin(self, name: str, total: int | None, done: int = 0) -> None:
        self._name, self._total, self._done = name, total or 0, done
        print(name, file=sys.stderr, flush=True)

    def advance(self, by: int) -> None:
        before = self._done
        self._done += by
        if self._total and before * _LINES // self._total < self._done * _LINES // self._total:
            print(f"{self._name}  {100 * self._done // self._total:3d} %", file=sys.stderr, flush=True)

    def close(self) -> None:
        return None


class Bars:
    """Live bars for terminals; `in_bytes` for amounts of data."""

    def __init__(self, console: Console, in_bytes: bool) -> None:
        amount = DownloadColumn() if in_bytes else TextColumn("{task.completed:.0f}/{task.total:.0f}")
        columns = (TextColumn("{task.description}"), BarColumn(24), amount, TimeRemainingColumn())
        self._bars = Progress(*columns, console=console)
        self._task: TaskID | None = None
        self._bars.start()

    def begin(self, name: str, total: int | None, done: int = 0) -> None:
        self._task = self._bars.add_task(name, total=total, completed=done)

    def advance(self, by: int) -> None:
        if self._task is not None:
            self._bars.advance(self._task, by)

    def close(self) -> None:
        self._bars.stop()


def meter(quiet: bool = False, in_bytes: bool = False) -> Meter:
    """The meter that suits where standard error goes."""
    if quiet:
        return Silent()
    console = Console(stderr=True)
    return Bars(console, in_bytes) if console.is_terminal else Lines()
