"""How the known physics f and the learned residual r make one field: the paper's operator f o r.

Every composition gives back the physics when r = 0.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Composition(Protocol):
    """`sees_physics`: whether the residual net gets f as an extra input."""

    sees_physics: bool

    def __call__(self, physics: Tensor, residual: Tensor, scale: Tensor) -> Tensor:
        """The whole field; `residual` is in units of `scale`."""
        ...


class Additive:
    """f + r."""

    sees_physics = False

    def __call__(self, physics: Tensor, residual: Tensor, scale: Tensor) -> Tensor:
        return physics + residual * scale


class Informed(Additive):
    """f + r(x, f): the residual may depend on what the physics says."""

    sees_physics = True


class Multiplicative:
    """f (1 + r): a known form with an unknown factor; it cannot add where f is zero."""

    sees_physics = False

    def __call__(self, physics: Tensor, residual: Tensor, scale: Tensor) -> Tensor:
        return physics * (1 + residual)


COMPOSITIONS: dict[str, Composition] = {
    "additive": Additive(),
    "informed": Informed(),
    "multiplicative": Multiplicative(),
}
