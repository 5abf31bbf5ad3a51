"""How the learning rate goes over a budget."""

from __future__ import annotations

import math


def schedule(fraction: float, warmup: float) -> float:
    """Linear rise over `warmup` of the budget, then half a cosine down to zero at its very end."""
    if fraction < warmup:
        return max(fraction / warmup, 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (fraction - warmup) / (1 - warmup)))
