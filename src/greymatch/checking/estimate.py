"""Parameters of each trajectory by least squares, alone or beside terms that might be missing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.checking.library import Library
from greymatch.checking.points import Points
from greymatch.models.least_squares import Reach, gauss_newton, ridge

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
    middle = points.middle()
    free = middle.shape[1]
    doubt = torch.full((free + len(library.columns),), LIBRARY_DOUBT, dtype=torch.float64)
    doubt[:free] = DOUBT

    def solve(eps: Tensor) -> Tensor:
        left = points.flat(points.top - points.known(eps))
        slopes = [points.flat(one)[..., None] for one in points.slopes(eps)]
        # the parameters (not the library) are drawn back to the prior's middle
        pull = torch.cat([eps.double(), library.values.new_zeros(len(eps), len(library.columns))], 1)
        count = left.new_full((len(left), 1), max(1, left.shape[1]))
        return ridge(torch.cat([*slopes, library.values], -1), left, doubt, count, pull)

    farthest = torch.full((free,), FARTHEST)
    return Estimate(*gauss_newton(solve, middle, Reach(-farthest, farthest, LONGEST_STEP), SWEEPS))
