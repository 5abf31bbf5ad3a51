"""The methods of the paper as data: which parts each one uses. Everything else is shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.physics.physics import Physics

Kind = Literal["matching", "next-point", "simulation", "regularised"]


@dataclass(frozen=True)
class Method:
    """`uses_physics`: f_p is known to the model; `variational`: latents are drawn and pay their KL.

    `objective` is how it learns: by matching velocities, by naming the next point, or with a solver in the loop,
    plain or regularised. `cleanses`: theta is read off a window cleansed of what the physics does not explain.
    """

    name: str
    title: str
    uses_physics: bool
    variational: bool
    objective: Kind = "matching"
    cleanses: bool = False

    @property
    def solves(self) -> bool:
        """Whether training solves the field, so that errors are those of states and not of derivatives."""
        return self.objective in ("simulation", "regularised")

    def known(self, physics: Physics) -> Physics:
        """The physics the model is given: the user's, or nothing at all of the same shape."""
        return physics if self.uses_physics else nothing_known(physics)


METHODS = {
    method.name: method
    for method in (
        Method("vgb-dm", "variational grey-box dynamics matching", uses_physics=True, variational=True),
        Method("gb-dm", "grey-box dynamics matching, deterministic", uses_physics=True, variational=False),
        Method("vbb-dm", "variational black-box dynamics matching", uses_physics=False, variational=True),
        Method("tfm", "trajectory flow matching", uses_physics=False, variational=False, objective="next-point"),
        Method("bb-node", "black-box neural ODE", uses_physics=False, variational=True, objective="simulation"),
        Method("physvae", "physics-integrated VAE", True, True, objective="regularised", cleanses=True),
    )
}


def method_named(name: str) -> Method:
    if name not in METHODS:
        raise GreymatchError(f"`method` must be one of {list(METHODS)}; got {name!r}.{did_you_mean(name, METHODS)}")
    return METHODS[name]


def nothing_known(physics: Physics) -> Physics:
    """A physics of the same states, order, inputs and grid that says zero and has no parameters."""

    def nothing(*arguments: object) -> Mapping[str, Tensor | float]:
        return {name: torch.zeros(()) for name in physics.states}

    return Physics(
        nothing,
        physics.states,
        {},
        physics.order,
        physics.inputs,
        physics.grid,
        name=f"{physics.name}-unknown",
    )
