"""What the suite found, as tables and one picture."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from greymatch.bench.sheet import Row, Sheet
from greymatch.bench.speed.reaching import Reached
from greymatch.bench.speed.suite import Found
from greymatch.bench.speed.timing import Curve, Measured
from greymatch.bench.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RATIOS = {
    "part": "part", "case": "what", "unit": "in", "ours": "greymatch", "plain": "plain way", "ratio": "times as fast",
    "spread": "of all turns", "goal": "goal", "reached": "reached", "against": "the plain way",
}  # fmt: skip
COSTS = {
    "axis": "more",
    "size": "how many",
    "seconds": "s",
    "slope": "slope",
    "highest": "at most",
    "reached": "reached",
}
ERRORS = {
    "system": "system", "target": "paper's MSE", "seconds": "s of one core to reach it", "reached": "runs that did",
}  # fmt: skip
NOTES = (
    "Both ways take turns in one process on one core; seconds are those of the processor: a busy machine slows both. "
    "Medians over the turns; a ratio is that of the two ways in the same turn.",
    "A whole fit of a preset encodes windows for the first quarter of its time, as the plain loop does all along; then "
    "trajectories have told their latents. Both parts are rows of their own.",
    "Slopes are those of logarithms: at 1, twice as many cost twice as much.",
)


def view(found: Found, reached: Sequence[Reached] = ()) -> View:
    sheets = {}
    if found.measured:
        sheets["speed"] = Sheet("Speed beside plain ways", RATIOS, [_row(one) for one in found.measured])
    if found.curves:
        sheets["scaling"] = Sheet("Cost of a forecast", COSTS, [row for one in found.curves for row in _costs(one)])
    if reached:
        sheets["errors"] = Sheet("Time to a given error", ERRORS, [_error(one) for one in reached])
    alt = "Seconds of a forecast against trajectories, draws, horizon and states, with the slope of each"
    notes = [*NOTES, *(f"{one.part}, {one.case}: {one.note}." for one in found.measured if one.note)]
    return View(sheets, notes, partial(draw, found.curves) if found.curves else None, alt)


def _row(one: Measured) -> Row:
    ratios = one.ratios
    goal = one.goal if one.most is None else f"at most {one.most:g} s"
    row: Row = {"part": one.part, "case": one.case, "unit": one.unit, "against": one.against, "goal": goal}
    row |= {"ours": _pace(one, one.ours), "plain": _pace(one, one.plain), "reached": _said(one.reached)}
    row |= {"ratio": statistics.median(ratios) if ratios else None}
    return row | {"spread": f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "", "turns": len(one.ours)}


def _said(reached: bool | None) -> str:
    return "" if reached is None else "yes" if reached else "no"


def _pace(one: Measured, seconds: Sequence[float]) -> float | None:
    """Amount per second; where the unit is the second, seconds."""
    if not seconds:
        return None
    middle = statistics.median(seconds)
    return middle if one.unit == "s" else one.amount / middle


def _costs(curve: Curve) -> list[Row]:
    rows: list[Row] = [
        {"axis": curve.axis, "size": size, "seconds": seconds}
        for size, seconds in zip(curve.sizes, curve.seconds, strict=True)
    ]
    rows[-1] |= {"slope": curve.slope, "highest": curve.highest, "reached": _said(curve.within)}
    return rows


def _error(one: Reached) -> Row:
    reached = f"{len(one.seconds)} of {one.runs}"
    return {"system": one.system, "target": one.target, "seconds": one.middle, "reached": reached}


def draw(curves: Sequence[Curve]) -> Figure:
    """A panel for each size, with the line of proportion through its first point."""
    from greymatch.bench.pictures import log_axes, panels

    figure, grid = panels([f"{curve.axis}: slope {curve.slope:.2f}" for curve in curves], columns=4)
    for axes, curve in zip(grid, curves, strict=True):
        _draw_curve(axes, curve)
        log_axes(axes)
        axes.set(xlabel=curve.axis, ylabel="seconds of a forecast")
    return figure


def _draw_curve(axes: Axes, curve: Curve) -> None:
    from greymatch.bench.pictures import MUTED, style_of

    first = curve.seconds[0] / curve.sizes[0]
    axes.plot(curve.sizes, [first * size for size in curve.sizes], color=MUTED, lw=1, ls=(0, (4, 2)))
    axes.plot(curve.sizes, curve.seconds, color=style_of("vgb-dm").colour, marker="o", ms=5)
