"""The times a forecast is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.moments import Moment
    from greymatch.data.trajectories import Trajectories

ROUNDING = 1e-6  # of a step
MOST = 1_000_000


def parse_times(text: str) -> np.ndarray:
    """START:STOP:STEP as START, START + STEP, ... up to and including STOP."""
    try:
        start, stop, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise GreymatchError(f"`--times` must be START:STOP:STEP, such as 2.6:20:0.1; got {text!r}.") from None
    if not (np.isfinite([start, stop, step]).all() and step > 0 and stop >= start):
        raise GreymatchError(
            f"`--times` must be START:STOP:STEP with STEP above 0 and STOP not before START; got {text!r}."
        )
    return start + step * np.arange(_count(start, stop, step, "--times"))


def times_to(history: Trajectories, to: Moment) -> np.ndarray:
    """From each trajectory's last observation on, by the history's own step, to a time or date: (N, T), inf-padded."""
    from greymatch.data.moments import moment
    from greymatch.forecast.times import last_observed

    stop = moment(history, to, "--to")

    if not history.step > 0:
        raise GreymatchError("`--to` needs a history of two points or more, for their step; give --times instead.")
    last = last_observed(history).numpy()
    if not (last + history.step * (1 - ROUNDING) <= stop).all():
        raise GreymatchError(
            f"`--to` must lie a step ({history.step:g}) or more after every history; got {to}, and the last "
            f"observation is at {last.max():g}. Ask for later, or shorten the history with --until."
        )
    counts = [_count(start, end, history.step, "--to") - 1 for start, end in zip(last, stop, strict=True)]
    times = last[:, None] + history.step * np.arange(1, max(counts) + 1)
    return np.where(np.arange(max(counts)) < np.array(counts)[:, None], times, np.inf)


def _count(start: float, stop: float, step: float, option: str) -> int:
    count = (stop - start) / step + ROUNDING
    if count > MOST:
        raise GreymatchError(f"`{option}` asks for {count:.3g} times; {MOST} are the most. Take a larger step.")
    return int(count) + 1
