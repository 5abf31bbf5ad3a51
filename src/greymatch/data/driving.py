"""Inputs put beside recordings: functions, or what was recorded elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from greymatch.data.checks import shown
from greymatch.data.dates import nanoseconds
from greymatch.data.signals import Function, Signals, evaluate
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories


def driven(data: Trajectories, inputs: Trajectories | Mapping[str, Function], kind: str | None) -> Trajectories:
    """The data with other inputs, or with functions beside those that they have."""
    if isinstance(inputs, Mapping):
        return replace(data, inputs=_with_functions(data, inputs))
    if inputs.grid:
        raise GreymatchError(f"inputs must not lie on a grid; these have the axes {list(inputs.grid)}.")
    rows = torch.as_tensor([_row_of(data, row, inputs) for row in range(len(data))], device=inputs.times.device)
    times = (inputs.times[rows] + _later(data, inputs, rows)).to(data.times.device)
    signals = Signals(
        inputs.states, times, inputs.values[rows].to(times), kind or "cubic", inputs.mask[rows].to(times.device)
    )
    units = {name: inputs.units[name] for name in inputs.states if name in inputs.units}
    return replace(data, inputs=signals, units=data.units | units)


def _with_functions(data: Trajectories, functions: Mapping[str, Function]) -> Signals:
    empty = Signals((), data.times, data.times.new_zeros((*data.times.shape, 0)))
    known = data.inputs or empty
    names = (*known.names, *(name for name in functions if name not in known.names))
    values, seen = known.times.new_zeros((*known.times.shape, len(names))), known.times.isfinite()
    mask = seen[..., None].repeat(1, 1, len(names))
    values[..., : len(known.names)], mask[..., : len(known.names)] = known.values, known.seen
    for name, function in functions.items():
        column = names.index(name)
        values[..., column], mask[..., column] = evaluate(name, function, known.times), seen
    return replace(known, names=names, values=values, mask=mask, functions={**known.functions, **functions})


def _row_of(data: Trajectories, row: int, inputs: Trajectories) -> int:
    """The trajectory of `inputs` with the same label; one alone serves all."""
    found = np.flatnonzero(inputs.labels == data.labels[row])
    if len(inputs) == 1:
        return 0
    if not found.size:
        raise GreymatchError(
            f"inputs must be known for every trajectory; {shown(data.labels, row)} is not among those of the inputs, "
            f"{inputs.labels[:5].tolist()}. Label them alike, or give one for all."
        )
    return int(found[0])


def _later(data: Trajectories, inputs: Trajectories, rows: Tensor) -> Tensor:
    """By how much (N, 1) the clock of the inputs starts later, where both are dates."""
    if data.epoch is None or inputs.epoch is None:
        if (data.epoch is None) != (inputs.epoch is None):
            raise GreymatchError("recordings and their inputs must both have dates, or both numbers, as times.")
        return torch.zeros(len(data), 1, dtype=torch.float64)
    since = (inputs.epoch[rows.cpu().numpy()] - data.epoch).astype("m8[ns]").astype(np.int64)
    return torch.as_tensor(since / nanoseconds(data.units.get("time")))[:, None]
