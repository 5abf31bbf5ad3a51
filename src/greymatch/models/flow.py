"""The field of members whose latents stay, as solvers ask for it: again and again.

What goes with the latents alone is worked out once. Where nothing learned is left but a few products of states, these
alone are multiplied out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import torch
from torch import Tensor, nn

from greymatch.models.dynamics import Dynamics
from greymatch.models.latents import Latents
from greymatch.models.residual import MlpField, PolynomialField

MOST_PRODUCTS = 16  # of more, one table of all is made as fast


@dataclass(frozen=True)
class Flow:
    """d(state)/dt of members (B,), for states (B, order*S, *grid) in units of the data, which are from `center` in
    `unit` (order*S, *ones)."""

    dynamics: Dynamics
    center: Tensor
    unit: Tensor
    latents: Latents
    law: Law | None

    @staticmethod
    def of(dynamics: Dynamics, latents: Latents) -> Flow:
        axes = len(dynamics.physics.grid)
        center, unit = (part.reshape(-1, *(1,) * axes) for part in (dynamics.scales_center, dynamics.scales_spread))
        return Flow(dynamics, center, unit, dynamics.pushed(latents), Law.of(dynamics, latents))

    def select(self, rows: Tensor) -> Flow:
        """That of some members."""
        return replace(self, latents=self.latents.select(rows), law=self.law and self.law.select(rows))

    def __call__(self, t: Tensor, state: Tensor, u: Tensor | None = None) -> Tensor:
        """At times (B,), with inputs (B, U) if there are any."""
        phase = torch.addcmul(self.center, state, self.unit)
        known = self.dynamics.known(t, phase, self.latents, u)
        learned = self.law(state) if self.law else self.dynamics.learned(t, phase, self.latents, u, known)
        return self.dynamics.moved(phase, self.dynamics.composed(known, learned)) / self.unit


@dataclass(frozen=True)
class Law:
    """A `constant` (heads*S, B) and `weights` (heads*S, M, B) of M products, each of which has some states."""

    constant: Tensor
    weights: Tensor
    products: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(dynamics: Dynamics, latents: Latents) -> Law | None:
        """All that members with these latents have learned; None if that is more."""
        learned = _without_a_net(dynamics)
        if learned is None:
            return None
        told = learned.told * dynamics.open.repeat(1 + dynamics.learns_velocity)[:, None]
        told = told.unflatten(1, (-1, 1 + learned.latents))  # products, and what each goes with: 1 or a latent
        of = {product: states for product, states in enumerate(learned.products) if bool(told[:, product].any())}
        if len(of) > MOST_PRODUCTS or not set[int]().union(*of.values()) <= _phase(dynamics):
            return None
        weights = told @ nn.functional.pad(latents.z, (1, 0), value=1.0).T.to(told)
        constant = weights[:, [product for product, states in of.items() if not states]].sum(1)
        moving = {product: states for product, states in of.items() if states}
        return Law(constant, weights[:, list(moving)], tuple(moving.values()))

    def select(self, rows: Tensor) -> Law:
        return Law(self.constant[:, rows], self.weights[:, :, rows], self.products)

    def __call__(self, state: Tensor) -> Tensor:
        """(B, heads*S) of states (B, order*S)."""
        if not self.products:
            return self.constant.T
        columns = state.unbind(1)
        products = [reduce(torch.mul, (columns[each] for each in of)) for of in self.products]
        return (self.constant + (self.weights * torch.stack(products)).sum(1)).T


def _without_a_net(dynamics: Dynamics) -> PolynomialField | None:
    """What is learned, if that is products of what is seen at a point and no more."""
    field = dynamics.field
    if dynamics.physics.grid or dynamics.composition.sees_physics:
        return None
    if isinstance(field, MlpField) and field.netless:
        return field.products
    return field if isinstance(field, PolynomialField) else None


def _phase(dynamics: Dynamics) -> set[int]:
    """The columns that are states, and seen by what is learned."""
    return set(dynamics.sees_phase.nonzero()[:, 0].tolist())
