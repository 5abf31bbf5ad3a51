"""Whether ranks are uniform, and how far chance alone takes them from it."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom, kstwo


def band(bins: int, count: float, level: float = 0.95) -> tuple[float, float]:
    """Shares between which all `bins` of a histogram of `count` uniform values lie at once, at least at `level`.

    Quantiles of the binomial distribution of one bin, at a level that leaves room for the others (Bonferroni).
    """
    trials, beyond = max(1, int(count)), (1 - level) / (2 * bins)
    low, high = (float(binom.ppf(q, trials, 1 / bins)) / trials for q in (beyond, 1 - beyond))
    return low, high


def distance(below: np.ndarray) -> float:
    """Largest gap between the shares `below` (E,) evenly spaced edges from 0 to 1 and those of a uniform law."""
    return float(np.abs(below - np.linspace(0, 1, len(below))).max())


def chance(gap: float, count: float) -> float:
    """How often `count` uniform values show such a gap or a larger one (Kolmogorov and Smirnov)."""
    return float(kstwo.sf(gap, max(1, int(count))))
