"""Numbers as the page writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence


def number(value: float, digits: int = 3) -> str:
    """Three significant digits: 0.0355, 4490, 3.14e-6; a dash for NaN."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 1000 <= abs(value) < 1e6:
        return f"{float(f'{value:.{digits}g}'):.0f}"
    return re.sub(r"e([+-])0*(\d)", lambda found: f"e{found[1].strip('+')}{found[2]}", f"{value:.{digits}g}")


def percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def probability(value: float) -> str:
    """Two digits; what hardly ever happens is less than a thousandth."""
    return "< 0.001" if value < 1e-3 else number(value, 2)


def ratio(value: float, by: float) -> float:
    """value / by, where nothing over nothing is 1."""
    if by == 0 or (math.isinf(value) and math.isinf(by)):
        return 1.0 if value == by else math.inf
    return value / by


def duration(seconds: float) -> str:
    """6.2 s, 3 min 5 s or 2 h 10 min."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """1 point, 26 points, 3 trajectories."""
    regular = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count} {noun if count == 1 else plural or regular}"


def listed(items: Sequence[object], most: int = 5) -> str:
    """a, b, c, and so many more."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(str(item) for item in items[:most]) + more
