"""Which few terms a set of functions is made of, when each has coefficients of its own.

Stepwise sparse regression (pysindy's SSR) for many functions at once: they share the terms, not the coefficients.
From all candidates on, the term whose loss costs least is dropped, until one is left.
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
        found.append(min((normal.fit(kept[:i] + kept[i + 1 :]) for i in range(len(kept))), key=_left))
        kept = found[-1].kept
    return [*found, Fit((), target.new_zeros(len(target), 0), 1.0)]


def _left(fit: Fit) -> float:
    return fit.unexplained


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
        which = torch.tensor(kept, device=self.size.device)
        square = self.square[:, which][:, :, which]
        square = square + RIDGE * torch.eye(len(kept), dtype=square.dtype, device=square.device)
        scaled = torch.linalg.solve(square, self.side[:, which, None])[..., 0]
        left = (self.total - (self.side[:, which] * scaled).sum(1)).clamp_min(0).sum()
        unexplained = float((left / self.total.sum().clamp_min(1e-300)).sqrt())
        return Fit(kept, scaled / self.size[which], unexplained)
