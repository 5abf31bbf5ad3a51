"""Several recordings as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError


def join(parts: Sequence[Trajectories], names: Sequence[str]) -> Trajectories:
    """All trajectories of `parts`, which must hold the same; `names` say in errors which one does not."""
    first = parts[0]
    for part, name in zip(parts, names, strict=True):
        _check_alike(first, part, names[0], name)
    epochs = [part.epoch for part in parts if part.epoch is not None]
    return replace(
        first,
        times=_longest([part.times for part in parts], torch.inf),
        values=_longest([part.values for part in parts]),
        mask=_longest([part.mask for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
        inputs=_inputs([part.inputs for part in parts if part.inputs is not None]),
        truth={key: np.concatenate([part.truth[key] for part in parts]) for key in first.truth},
        epoch=np.concatenate(epochs) if epochs else None,
    )


def _longest(tensors: Sequence[Tensor], fill: float = 0) -> Tensor:
    """The tensors (n, T, ...) one after another, padded to the longest T."""
    longest = max(tensor.shape[1] for tensor in tensors)
    ends = [(0, 0) * (tensor.ndim - 2) + (0, longest - tensor.shape[1]) for tensor in tensors]
    return torch.cat([pad(tensor, end, value=fill) for tensor, end in zip(tensors, ends, strict=True)])


def _inputs(signals: Sequence[Signals]) -> Signals | None:
    if not signals:
        return None
    return replace(
        signals[0],
        times=_longest([one.times for one in signals], torch.inf),
        values=_longest([one.values for one in signals]),
        mask=_longest([one.seen for one in signals]),
    )


def _check_alike(first: Trajectories, other: Trajectories, name: str, other_name: str) -> None:
    mine, theirs = _holds(first), _holds(other)
    for what, one in mine.items():
        if one != theirs[what]:
            raise GreymatchError(
                f"recordings must hold the same {what}; {name!r} has {one or 'none'}, {other_name!r} has "
                f"{theirs[what] or 'none'}. Name what they share in `states` and `inputs`, or leave one out."
            )


def _holds(data: Trajectories) -> dict[str, object]:
    return {
        "states": list(data.states),
        "inputs": list(data.inputs.names) if data.inputs else [],
        "grid": dict(zip(data.grid, data.values.shape[3:], strict=True)),
        "truth": sorted(data.truth),
        "units": data.units,
        "kind of times": "numbers" if data.epoch is None else "dates",
    }
