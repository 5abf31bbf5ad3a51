"""When a forecast starts, and the times it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from greymatch.data.checks import check_times, shown
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError

Times = Sequence[float] | Sequence[Sequence[float]] | np.ndarray | Tensor
_SAME = 1e-6  # of a step: times closer than this are one time
_SAME_ROUNDED = 1e-3  # and up to this where single precision cannot tell them apart


def as_times(times: Times, history: Trajectories) -> Tensor:
    """Asked times (N, T) in float64, inf-padded, none before the last observation of its trajectory.

    One list of times serves all trajectories; a table (N, T) gives each its own. The time of the last observation
    itself may be asked: it is given back as observed, and never scored.
    """
    asked = torch.as_tensor(_numbers(times), device=history.times.device)
    if asked.ndim == 1:
        asked = asked.repeat(len(history), 1)
    check_times(asked, history.labels)
    start = last_observed(history)
    early = asked[:, 0] < start - same_time(history, start)
    if bool(early.any()):
        _refuse(asked[:, 0], start, int(early.nonzero()[0]), history)
    return asked.maximum(start[:, None])


def last_observed(history: Trajectories) -> Tensor:
    """Time (N,) of the last observation of any state: where a forecast starts."""
    seen = history.mask.flatten(2).any(2) & history.times.isfinite()
    if not bool(seen.any(1).all()):
        row = int((~seen.any(1)).nonzero()[0])
        raise GreymatchError(
            f"`history` must hold an observation of every trajectory; {shown(history.labels, row)} has none. "
            "Drop it, or give a longer history."
        )
    return history.times.masked_fill(~seen, -torch.inf).amax(1).double()


def same_time(data: Trajectories, times: Tensor) -> Tensor:
    """How close to each of `times` another must be to be the same, shaped like them.

    A millionth of the step of `data`; or, where that is coarser, the rounding of the times, in single precision
    as far as it stays well within a step.
    """
    step = data.step if data.step == data.step else 0.0
    size = torch.where(times.isfinite(), times.abs(), 0.0)
    single = (torch.finfo(torch.float32).eps * size).clamp(_SAME * step, _SAME_ROUNDED * step)
    return torch.maximum(single, 4 * torch.finfo(torch.float64).eps * size)


def _numbers(times: Times) -> np.ndarray:
    try:
        if isinstance(times, Tensor):
            times = times.detach().cpu().numpy()
        array = np.array(times)
        # a single-precision 0.1 means 0.1, not 0.10000000149
        return (array.astype(str) if array.dtype == np.float32 else array).astype(np.float64)
    except (TypeError, ValueError):
        raise GreymatchError(
            f"`times` must be numbers, one list for all trajectories or a table (trajectory, time); got {times!r}. "
            "Pad shorter rows with inf."
        ) from None


def _refuse(first: Tensor, start: Tensor, row: int, history: Trajectories) -> None:
    raise GreymatchError(
        f"`times` must not lie before the last observation; trajectory {shown(history.labels, row)} was last observed "
        f"at {float(start[row]):g} and is asked at {float(first[row]):g}. "
        "Ask for later times, or shorten the history with `.until(t)`."
    )
