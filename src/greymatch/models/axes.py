"""What the inputs and outputs of a residual are called, so that weights can be moved between systems by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from greymatch.models.composition import COMPOSITIONS
from greymatch.models.residual import FACTORS, FINER, factors_of_terms
from greymatch.settings import Settings

FIELD = "dynamics.field."
Names = dict[int, tuple[str, ...]]
"""Of the entries along an axis, by its number."""


@dataclass(frozen=True)
class Axes:
    """Names of all that a residual sees, in its order, of the `terms` beside its net, of the equations that it adds to,
    and of all that it says."""

    seen: tuple[str, ...]
    terms: tuple[str, ...]
    states: tuple[str, ...]
    outputs: tuple[str, ...]

    @staticmethod
    def of(physics: dict[str, Any], settings: Settings) -> Axes:
        """Of a described physics: states, velocities, curves, z, inputs, time, parameters, what is known of states."""
        states, order = tuple(physics["states"]), physics["order"]
        seen = [*states, *(f"{name}_dot" for name in states * (order - 1))]
        seen += settings.residual.curves or ()
        columns = len(seen)
        seen += [f"z{i}" for i in range(settings.encoder.latents)] + list(physics["inputs"])
        seen += ["t"] * settings.residual.sees_time
        if settings.residual.sees_theta:
            seen += [name for name, prior in physics["params"].items() if prior["kind"] != "Fixed"]
        if COMPOSITIONS[settings.residual.composition].sees_physics:
            seen += [f"known {name}" for name in states]
        drift = [f"{name}_dot" for name in states] if order == 2 and settings.residual.kinematics == "learned" else []
        degree = FACTORS if settings.residual.products is None else settings.residual.products
        factors = factors_of_terms(columns, len(seen) - columns, degree, settings.encoder.latents)
        terms = [" ".join(sorted(seen[i] for i in term if i < len(seen))) for term in factors]
        return Axes(tuple(seen), tuple(terms), states, (*drift, *states))

    def named(self, weight: str) -> Names:
        """The axes of a weight that have names, and these."""
        if weight == f"{FIELD}trunk.0.weight":
            return {1: self.seen}
        if weight.startswith(f"{FIELD}heads."):
            return {0: self.states}
        if weight in (f"{FIELD}products.coefficients.weight", f"{FIELD}products.{FINER}"):
            return {0: self.outputs, 1: self.terms}
        return {}


def moved(mine: Tensor, names: Names, own: Tensor, wanted: Names) -> Tensor | None:
    """`mine` in the order that `own` wants, and as `own` is for what has a new name; None where nothing fits."""
    if not wanted or mine.ndim != own.ndim:
        return None
    places: list[Tensor] = []
    for axis, size in enumerate(own.shape):
        before, after = (list(which.get(axis, map(str, range(size)))) for which in (names, wanted))
        known = [name for name in after if name in before]
        if not known or (mine.shape[axis], size) != (len(before), len(after)):
            return None
        places.append(torch.tensor([after.index(name) for name in known]))
        mine = mine.index_select(axis, torch.tensor([before.index(name) for name in known]).to(mine.device))
    filled = own.detach().clone()
    filled[torch.meshgrid(*places, indexing="ij")] = mine.to(own)
    return filled
