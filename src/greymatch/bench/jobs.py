"""What a grid does and where: tasks, the places that carry them out, and the jobs that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from greymatch.settings import Settings


class Task(Protocol):
    """Something to be run: a program that leaves one result file in the folder of the grid."""

    @property
    def name(self) -> str: ...

    def settings(self) -> Settings: ...

    def words(self, out: Path) -> list[str]:
        """What Python is told, so that it leaves the result in `out`."""
        ...

    def stored(self, folder: Path) -> dict[str, Any] | None:
        """The result of this very task if it is there; one of the same name but of another task is refused."""
        ...

    def told(self, result: dict[str, Any]) -> str:
        """The result in a few words."""
        ...


class Job(Protocol):
    """A task that was handed over. `begun`: it no longer waits for a machine."""

    @property
    def begun(self) -> bool: ...

    def poll(self) -> int | None:
        """The exit code once it ended."""
        ...

    def stop(self) -> None: ...

    def end(self) -> None:
        """Wait for a stopped job to write its checkpoint, and let go of it."""
        ...


class Place(Protocol):
    """Where tasks are carried out, `room` of them handed over at a time."""

    @property
    def room(self) -> int: ...

    def start(self, task: Task, out: Path) -> Job: ...


def result_file(task: Task, folder: Path) -> Path:
    return folder / f"{task.name}.json"


def log_file(out: Path) -> Path:
    return out.with_suffix(".log")


def run_folder(out: Path) -> Path:
    """Where the checkpoints of the run that `out` is the result of lie."""
    return out.with_suffix("")
