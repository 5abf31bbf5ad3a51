"""Parameters of each trajectory by least squares, alone or beside terms that might be missing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.checking.library import Library
from greymatch.checking.points import Points

SWEEPS = 8
LONGEST_STEP = 1.0  # standard deviations of the prior
FARTHEST = 4.0
DOUBT = 1e-3  # the prior's weight beside a motion that is explained
LIBRARY_DOUBT = 1e-6


@dataclass(frozen=True)
class Estimate:
    """Latent parameters (N, L) and the weights of the library's columns (N, K), in units of the data."""

    eps: Tensor
    weights: Tensor


def estimate(points: Points, library: Library) -> Estimate:
    """Gauss-Newton on top ~ known(eps) + library w: it starts at the prior's middle and never leaves its support."""
    eps = points.middle()
    weights = points.top.new_zeros(len(eps), len(library.columns))
    for _ in range(SWEEPS):
        left = points.flat(points.top - points.known(eps))
        slopes = [points.flat(one) for one in points.slopes(eps)]
        design = torch.cat([*(one[..., None] for one in slopes), library.values], -1)
        step, weights = _solve(design, left, eps.double()).split([eps.shape[1], weights.shape[1]], 1)
        eps = (eps + step.clamp(-LONGEST_STEP, LONGEST_STEP).float()).clamp(-FARTHEST, FARTHEST)
    return Estimate(eps, weights)


def _solve(design: Tensor, left: Tensor, eps: Tensor) -> Tensor:
    """One step of ridge regression, which draws the parameters (not the library) back to the prior's middle."""
    rows = max(1, design.shape[1])
    free = eps.shape[1]
    doubt = torch.full((design.shape[2],), LIBRARY_DOUBT, dtype=design.dtype)
    doubt[:free] = DOUBT
    square = design.mT @ design / rows + torch.diag(doubt)
    side = (design.mT @ left[..., None])[..., 0] / rows
    side[:, :free] -= DOUBT * eps
    return torch.linalg.solve(square, side[..., None])[..., 0].nan_to_num(0.0)
