"""The rules that `Trajectories` keep, and the errors that say which one is broken, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories


def shown(labels: np.ndarray, row: int) -> str:
    """A trajectory's label as a message should show it: 7 or 'left', not np.int64(7)."""
    return repr(labels[row : row + 1].tolist()[0])


def check_times(times: Tensor, labels: np.ndarray, name: str = "times") -> None:
    """Times must increase along each trajectory, padded with inf at the end only, and number at least one."""
    if times.ndim != 2 or 0 in times.shape or len(times) != len(labels):
        raise GreymatchError(
            f"`{name}` must be (trajectory, time), not empty, one row for each of the {len(labels)} labels; "
            f"got shape {tuple(times.shape)}."
        )
    if _increase(times):
        return
    finite = times.isfinite()
    if not bool(finite[:, 0].all()):
        empty = shown(labels, int((~finite[:, 0]).nonzero()[0]))
        raise GreymatchError(f"every trajectory needs at least one of `{name}`; {empty} has none. Drop it.")
    odd = times.isnan() | (times == -torch.inf)
    odd[:, 1:] |= finite[:, 1:] & ~finite[:, :-1]
    if bool(odd.any()):
        row, at = (int(i) for i in odd.nonzero()[0])
        raise GreymatchError(
            f"`{name}` must be numbers, padded after the end only; trajectory {shown(labels, row)} has "
            f"{float(times[row, at]):g} after {float(times[row, max(at - 1, 0)]):g} (point {at}). "
            "Drop points without a time."
        )
    stuck = (times.diff(dim=1) <= 0) & finite[:, 1:]
    if bool(stuck.any()):
        row, at = (int(i) for i in stuck.nonzero()[0])
        raise GreymatchError(
            f"`{name}` must increase; trajectory {shown(labels, row)} has {float(times[row, at + 1]):g} "
            f"after {float(times[row, at]):g} (point {at + 1}). Sort it or drop duplicates."
        )


def _increase(times: Tensor) -> bool:
    """Whether all is well, told in a fast pass or two (on a CPU, NumPy compares faster)."""
    clock = times.cpu().numpy()
    later, before = clock[:, 1:], clock[:, :-1]
    if not np.isfinite(clock[:, 0]).all():
        return False
    return bool((later > before).all() and np.isfinite(clock[:, -1]).all()) or bool(
        ((later > before) | (later == np.inf)).all()
    )


def all_finite(values: np.ndarray) -> bool:
    """Whether no value is infinite or missing; False also where the sum, the fastest to tell, overflows."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def check_values(data: Trajectories) -> None:
    """Values and mask must fit the times, the states and the grid, and be finite."""
    wanted = (*data.times.shape, len(data.states))
    if tuple(data.values.shape[:3]) != wanted or data.values.shape != data.mask.shape:
        raise GreymatchError(
            f"`values` and `mask` must be (trajectory, time, state, *grid) = {(*wanted, *data.grid)}; "
            f"got {tuple(data.values.shape)} and {tuple(data.mask.shape)}."
        )
    if data.values.ndim != 3 + len(data.grid):
        axes = data.values.ndim - 3
        raise GreymatchError(f"`values` has {axes} grid axes; `grid` names {list(data.grid)}.")
    if not bool(data.values.sum().isfinite()) and not bool(data.values.isfinite().all()):
        raise GreymatchError("`values` must be finite; mark gaps in `mask` (NaN in a Dataset does so).")


def check_inputs(data: Trajectories) -> None:
    """Every input must be sampled along every trajectory."""
    if data.inputs is None:
        return
    check_times(data.inputs.times, data.labels, "input times")
    never = ~data.inputs.seen.any(1)
    if bool(never.any()):
        row, index = (int(i) for i in never.nonzero()[0])
        raise GreymatchError(
            f"every input must be known along every trajectory; {data.inputs.names[index]!r} has no value in "
            f"trajectory {shown(data.labels, row)}. Fill it in or drop the trajectory."
        )


def check_observed(data: Trajectories) -> Trajectories:
    """Every state must be observed somewhere: asked when data are read, since a part of them may lack one."""
    for index, name in enumerate(data.states):
        first, every = data.mask[:1, :, index], data.mask[:, :, index]
        if not bool(first.any()) and not bool(every.any()):
            raise GreymatchError(
                f"state {name!r} is never observed: all of its values are missing. "
                "Leave it out of `states`, or look for its values in another column."
            )
    return data
