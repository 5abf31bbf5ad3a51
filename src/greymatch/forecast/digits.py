"""How many digits the bounds of an interval need."""

from __future__ import annotations

import math

LEAST, MOST = 4, 15  # significant digits: no more are certain in double precision
OF_WIDTH = 2


def interval_digits(low: float, high: float) -> int:
    """Significant digits that show two of the interval's width; the least where it has none."""
    width, size = high - low, max(abs(low), abs(high))
    if not (math.isfinite(size) and width > 0):
        return LEAST
    wanted = math.floor(math.log10(size)) - math.floor(math.log10(width)) + OF_WIDTH
    return min(max(LEAST, wanted), MOST)
