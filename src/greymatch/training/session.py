"""From a loop that is ready, new or resumed, to a model in the folder of its run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from greymatch.training.loop import Loop
from greymatch.training.ranks import LostProcessError, Ranks, of_the_connection
from greymatch.training.run import METRICS, MODEL, Lock, check_plan
from greymatch.training.tracker import JsonlTracker

STOPPED = "stopped"
M = TypeVar("M")


@dataclass(frozen=True)
class Session(Generic[M]):
    """A run of one kind of model: `plan` is what it must share with another to be the same run, `loop` gives the loop,
    `finish` the model that it leaves, written, and `load` reads that again."""

    plan: dict[str, Any]
    loop: Callable[[], Loop]
    finish: Callable[[Loop], M]
    load: Callable[[Path], M]

    def run(self, folder: Path, resume: bool, together: Ranks) -> M:
        """The model, the same in every process; the first alone writes."""
        with ExitStack() as held:
            if together.told(lambda: self._begin(held, folder, resume)):
                return self.load(folder / MODEL)
            loop = self.loop()
            run_to_end(loop, resume)
            model = self.finish(loop) if together.first else None
            together.wait()
            model = self.load(folder / MODEL) if model is None else model
            together.wait()
            return model

    def _begin(self, held: ExitStack, folder: Path, resume: bool) -> bool:
        """Take the folder; whether the run was finished before."""
        held.enter_context(Lock(folder))
        check_plan(folder, self.plan, resume)
        return resume and (folder / MODEL).exists()


def run_to_end(loop: Loop, resume: bool) -> None:
    """Run it with its metrics kept beside its checkpoints; when stopped, say how to go on."""
    if resume:
        loop.resume()
    if loop.ranks.first:
        loop.reporter.trackers.append(JsonlTracker(loop.folder / METRICS, loop.state.step if resume else None))
    try:
        loop.run()
    except KeyboardInterrupt:
        loop.reporter.meter.close()
        loop.reporter.meter.say(
            f"{STOPPED} at step {loop.state.step}; resume with folder={str(loop.folder)!r}, resume=True"
        )
        raise
    except RuntimeError as error:
        if loop.ranks.count > 1 and of_the_connection(error):
            raise LostProcessError(_lost(loop)) from error
        raise
    finally:
        for tracker in loop.reporter.trackers:
            tracker.close()


def _lost(loop: Loop) -> str:
    return (
        f"one of the {loop.ranks.count} processes is gone, at step {loop.state.step}. The last checkpoint is kept in "
        f"{str(loop.folder)!r}: resume it, with any number of processes."
    )
