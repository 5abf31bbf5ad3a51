"""Which few terms a set of functions is made of, when each has coefficients of its own.

Stepwise sparse regression (pysindy's SSR) for many functions at once: they share the terms, not the coefficients.
From all candidates on, the term whose loss costs least is dropped, until none is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

RIDGE = 1e-9
WORTH = 2.0  # a term must divide what is left unexplained by this


@dataclass(frozen=True)
class Fit:
    """`kept` terms by number, `coefficients` (N, K) of each function, and the `unexplained` part of its size."""

    kept: tuple[int, ...]
    coefficients: Tensor
    unexplained: float


def simplest(design: Tensor, target: Tensor, worth: float = WORTH) -> Fit:
    """Of all fits of target (N, M) by design (N, M, K), the one whose last term is the last that is worth it."""
    return min(eliminations(design, target), key=lambda fit: fit.unexplained * worth ** len(fit.kept))


def eliminations(design: Tensor, target: Tensor) -> list[Fit]:
    """Fits with fewer and fewer terms, from all to none."""
    normal = _Normal.of(design, target)
    kept = tuple(range(design.shape[-1]))
    found = [normal.fit(kept)]
    while len(kept) > 1:
        drop = normal.cheapest(kept)
        kept = kept[:drop] + kept[drop + 1 :]
        found.append(normal.fit(kept))
    return [*found, Fit((), target.new_zeros(len(target), 0), 1.0)]


@dataclass(frozen=True)
class _Normal:
    """The normal equations of each function, with columns of size 1."""

    square: Tensor
    side: Tensor
    size: Tensor
    total: Tensor

    @staticmethod
    def of(design: Tensor, target: Tensor) -> _Normal:
        size = design.square().mean((0, 1)).sqrt().clamp_min(1e-300)
        rows = design / size
        square = rows.mT @ rows / rows.shape[1]
        side = (rows.mT @ target[..., None])[..., 0] / rows.shape[1]
        return _Normal(square, side, size, target.square().mean(1))

    def fit(self, kept: tuple[int, ...]) -> Fit:
        square, side = self._of(kept)
        scaled = torch.linalg.solve(square, side[..., None])[..., 0]
        left = (self.total - (side * scaled).sum(1)).clamp_min(0).sum()
        unexplained = float((left / self.total.sum().clamp_min(1e-300)).sqrt())
        return Fit(kept, scaled / self.size[list(kept)], unexplained)

    def cheapest(self, kept: tuple[int, ...]) -> int:
        """Which of the kept terms is missed least: without one, the squares left grow by c^2 / (A^-1)_ii."""
        square, side = self._of(kept)
        inverse = torch.linalg.inv(square)
        scaled = (inverse @ side[..., None])[..., 0]
        growth = scaled.square() / inverse.diagonal(dim1=1, dim2=2).clamp_min(1e-300)
        return int(growth.sum(0).argmin())

    def _of(self, kept: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        which = torch.tensor(kept, device=self.size.device)
        square = self.square[:, which][:, :, which]
        return square + RIDGE * torch.eye(len(kept), dtype=square.dtype, device=square.device), self.side[:, which]
