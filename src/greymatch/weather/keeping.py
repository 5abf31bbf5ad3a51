"""How much of a departure from the usual a forecast may keep, and whether it may keep any."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

DOUBT = 0.05  # that anything at all is kept of what is worth nothing


class Overlap(NamedTuple):
    """Means over the sphere (start, lead, field) of said times true departures and of said ones squared.

    Not a number where a start is none of the lead's.
    """

    product: np.ndarray
    square: np.ndarray


def kept(found: Overlap) -> np.ndarray:
    """r (lead, field) in [0, 1]: by least squares where that makes forecasts better beyond doubt, and 0 elsewhere.

    The squared error of r d is less than that of 0 by 2 r p - r^2 q. For each start this is taken with the r of all
    others, and its mean must lie so far above 0 that, were all cells worth nothing, any of them would pass in one case
    of twenty at most (Student's t, Bonferroni). Months in a row count as independent.
    """
    product, square = np.nansum(found.product, axis=0), np.nansum(found.square, axis=0)
    of_others = _ratio(product - found.product, square - found.square)
    gain = 2 * of_others * found.product - of_others**2 * found.square
    count = np.isfinite(gain).sum(axis=0)
    error = np.nanstd(gain, axis=0, ddof=1) / np.sqrt(count)
    needed = student.ppf(1 - DOUBT / product.size, np.maximum(count - 1, 1))
    return np.where(np.nanmean(gain, axis=0) > needed * error, _ratio(product, square), 0.0)


def _ratio(product: np.ndarray, square: np.ndarray) -> np.ndarray:
    return np.clip(product / np.maximum(square, 1e-30), 0.0, 1.0)
