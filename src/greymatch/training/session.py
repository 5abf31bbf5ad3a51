"""From a loop that is ready, new or resumed, to the end of its budget."""

from __future__ import annotations

from greymatch.training.loop import Loop
from greymatch.training.ranks import LostProcessError, of_the_connection
from greymatch.training.run import METRICS
from greymatch.training.tracker import JsonlTracker

STOPPED = "stopped"


def run_to_end(loop: Loop, resume: bool) -> None:
    """Run it with its metrics kept beside its checkpoints; when stopped, say how to go on."""
    if resume:
        loop.resume()
    if loop.ranks.first:
        loop.trackers.append(JsonlTracker(loop.folder / METRICS, loop.state.step if resume else None))
    try:
        loop.run()
    except KeyboardInterrupt:
        loop.meter.close()
        loop.meter.say(f"{STOPPED} at step {loop.state.step}; resume with folder={str(loop.folder)!r}, resume=True")
        raise
    except RuntimeError as error:
        if loop.ranks.count > 1 and of_the_connection(error):
            raise LostProcessError(
                f"one of the {loop.ranks.count} processes is gone, at step {loop.state.step}. The last checkpoint is "
                f"kept in {str(loop.folder)!r}: resume it, with any number of processes."
            ) from error
        raise
    finally:
        for tracker in loop.trackers:
            tracker.close()
