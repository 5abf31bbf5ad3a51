"""Over-confident, honest or over-cautious: the figures in plain words."""

from __future__ import annotations

import math
from enum import StrEnum

from greymatch.diagnostics.reliability import Reliability

TOLERANCE = 0.05  # what is close enough, however many trajectories there are
SURE = 2.0  # standard deviations of chance
FEWEST = 5.0
_ROUNDING = 1e-9
_OUTER, _INNER = (0.9, 0.8, 0.5), 0.5


class Verdict(StrEnum):
    """What can be said of error bars; each is the word for it."""

    OVER_CONFIDENT = "over-confident"
    HONEST = "honest"
    OVER_CAUTIOUS = "over-cautious"
    UNKNOWN = "cannot be told"


def allowed(found: Reliability, level: float) -> float:
    """How far the coverage may be from its level before it is called wrong."""
    return max(TOLERANCE, SURE * found.scatter(level)) + _ROUNDING


def verdict(found: Reliability) -> Verdict:
    """By the widest interval of 90 % or less that the draws reach; where that is right, by the one of 50 %."""
    level = _decisive(found)
    if level is None:
        return Verdict.UNKNOWN
    gap = found.at(level) - level
    if abs(gap) <= allowed(found, level):
        return Verdict.HONEST
    return Verdict.OVER_CONFIDENT if gap < 0 else Verdict.OVER_CAUTIOUS


def leans(found: Reliability) -> bool:
    """Whether the truth lies on one side of its draws more often than chance allows."""
    return verdict(found) is not Verdict.UNKNOWN and abs(found.above - 0.5) > allowed(found, 0.5)


def sentence(found: Reliability) -> str:
    """The verdict with its figures."""
    level = _decisive(found)
    if level is None:
        return f"{_why(found)}, so nothing can be told."
    held = (
        f"intervals of {_percent(level)} hold {_percent(found.at(level))} of the truth (right: {_span(found, level)})"
    )
    others = [other for other in dict.fromkeys((*_reached(found)[:1], _INNER)) if other != level]
    more = "".join(f", those of {_percent(other)} hold {_percent(found.at(other))}" for other in others)
    where = " in the middle" if level < _reached(found)[0] else ""
    return f"{verdict(found).capitalize()}{where}{_doubt(found, level)}: {held}{more}.{_lean(found)}"


def _decisive(found: Reliability) -> float | None:
    """The level by which the verdict is made: the outer one, unless only the inner one is wrong."""
    if found.draws < 2 or found.independent < FEWEST or not _reached(found):
        return None
    outer = _reached(found)[0]
    wrong = [level for level in (outer, _INNER) if abs(found.at(level) - level) > allowed(found, level)]
    return wrong[0] if wrong else outer


def _reached(found: Reliability) -> list[float]:
    """Levels from the outermost in, as far as there are draws enough."""
    return [level for level in _OUTER if math.isfinite(found.at(level))]


def _span(found: Reliability, level: float) -> str:
    """Rounded inwards, so that what lies outside is not told to lie inside."""
    slack = allowed(found, level)
    low, high = math.ceil(100 * max(0.0, level - slack)), math.floor(100 * min(1.0, level + slack))
    return f"{low} to {high} %"


def _doubt(found: Reliability, level: float) -> str:
    """Where a gap is forgiven only because there are few trajectories."""
    gap = abs(found.at(level) - level)
    forgiven = TOLERANCE + _ROUNDING < gap <= allowed(found, level)
    return f", as far as {found.independent:.0f} trajectories can tell" if forgiven else ""


def _why(found: Reliability) -> str:
    if found.draws < 2:
        return "A single draw has no spread"
    if found.independent < FEWEST:
        return "There are too few trajectories"
    return f"{found.draws} draws are too few"


def _lean(found: Reliability) -> str:
    """A pull to one side makes any interval miss."""
    told = f" The truth lies above the median in {_percent(found.above)} of the cases: there is a pull to one side."
    return told if leans(found) else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
