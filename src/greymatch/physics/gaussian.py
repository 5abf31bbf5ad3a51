"""The standard normal distribution function and its inverse, accurate far into both tails."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from torch import Tensor


def cdf(z: Tensor) -> Tensor:
    """Phi(z). torch.special.ndtr loses the lower tail: in float32 it is 0 from -6 on."""
    return 0.5 * torch.erfc(z * -math.sqrt(0.5))


def cdf_of(z: float) -> float:
    """Phi of one plain number, which may be infinite."""
    return 0.5 * math.erfc(z * -math.sqrt(0.5))


def inverse_cdf(below: Tensor, above: Tensor) -> Tensor:
    """Phi^-1(below), given also above = 1 - below: from the smaller of the two, since 1 - p cancels."""
    lower = below < above
    tail = torch.where(lower, below, above)
    z = torch.special.ndtri(tail.clamp_min(torch.finfo(tail.dtype).tiny))
    return torch.where(lower, z, -z)


def mass_between(start: Tensor, stop: Tensor) -> Tensor:
    """Phi(stop) - Phi(start), mirrored where the interval leans right, since Phi is close to 1 there."""
    mirrored = start + stop > 0
    return torch.where(mirrored, cdf(-start) - cdf(-stop), cdf(stop) - cdf(start))


def truncated_moments(a: float, b: float) -> tuple[float, float]:
    """Mean and standard deviation of N(0, 1) kept to [a, b].

    By quadrature, to rounding: the closed forms cancel where the interval is narrow or far out.
    """
    mode = min(max(0.0, a), b)
    reach = math.sqrt(mode**2 + 80)  # beyond it the density is e^-40 of the mode's
    start, stop = max(a, -reach), min(b, reach)
    nodes, weights = _legendre()
    step = (stop - start) * (nodes + 1) / 2
    density = weights * np.exp(-((start + step) ** 2 - mode**2) / 2)
    density /= density.sum()
    mean = density @ step
    return float(start + mean), float(np.sqrt(density @ (step - mean) ** 2))


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(128)
