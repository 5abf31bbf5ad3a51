"""What the inputs and outputs of a residual are called, so that weights can be moved between systems by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from greymatch.models.composition import COMPOSITIONS
from greymatch.settings import Settings

FIELD = "dynamics.field."


@dataclass(frozen=True)
class Axes:
    """Names of all that a residual sees, in its order, and of the equations that it adds to."""

    seen: tuple[str, ...]
    states: tuple[str, ...]

    @staticmethod
    def of(physics: dict[str, Any], settings: Settings) -> Axes:
        """Of a described physics: states, velocities, z, inputs, time, parameters, and what is known of each state."""
        states, order = tuple(physics["states"]), physics["order"]
        seen = [*states, *(f"{name}_dot" for name in states * (order - 1))]
        seen += [f"z{i}" for i in range(settings.encoder.latents)] + list(physics["inputs"])
        seen += ["t"] * settings.residual.sees_time
        if settings.residual.sees_theta:
            seen += [name for name, prior in physics["params"].items() if prior["kind"] != "Fixed"]
        if COMPOSITIONS[settings.residual.composition].sees_physics:
            seen += [f"known {name}" for name in states]
        return Axes(tuple(seen), states)

    def named(self, weight: str) -> tuple[int, tuple[str, ...]] | None:
        """The axis of a weight that has names, and these; None if it has none."""
        if weight == f"{FIELD}trunk.0.weight":
            return 1, self.seen
        if weight.startswith(f"{FIELD}heads."):
            return 0, self.states
        return None


def moved(mine: Tensor, names: Sequence[str], own: Tensor, wanted: Sequence[str], axis: int) -> Tensor | None:
    """`mine` in the order that `own` wants, and as it is for what has a new name; None where nothing fits."""
    known = [name for name in wanted if name in names]
    same = mine.ndim == own.ndim and all(mine.shape[i] == own.shape[i] for i in range(own.ndim) if i != axis)
    if not (known and same and mine.shape[axis] == len(names) and own.shape[axis] == len(wanted)):
        return None
    to, of = ([order.index(name) for name in known] for order in (list(wanted), list(names)))
    return own.detach().index_copy(axis, torch.tensor(to), mine.index_select(axis, torch.tensor(of)).to(own))
