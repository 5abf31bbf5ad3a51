"""Whether windows of one trajectory agree on its parameters, beside whether they are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.sheet import Cell, Row, Sheet
from greymatch.bench.summary import Result, Summary, by_system_and_method, grouped, ratio
from greymatch.bench.view import View
from greymatch.bench.views.parameters import GREY_BOX

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

USELESS, STEADY = 0.8, 0.5
HEADS = {
    "system": "system",
    "parameter": "parameter",
    "method": "method",
    "seeds": "seeds",
    "cv": "CV",
    "spread": "spread of the truth",
    "ratio": "RMSE / prior's",
    "verdict": "",
}
NOTES = (
    "CV: standard deviation over mean of the inferred parameter over sliding windows of a test trajectory, median "
    "over trajectories. RMSE: over the same windows, over that of the prior's mean.",
    f"Collapsed: the error is at least {USELESS} of the prior's while the CV is less than {STEADY} of the spread of "
    "the truth (standard deviation over mean). Such a posterior says the same of whatever it is shown: consistent, and "
    "useless. In the picture its marker is hollow.",
)


def view(results: Sequence[Result]) -> View:
    rows = [row for found in by_system_and_method(results) for row in _rows(*found)]
    sheet = Sheet("Consistency beside error", HEADS, rows)
    alt = "Parameter error against coefficient of variation, one panel a parameter; hollow: collapsed"
    return View({"consistency": sheet}, NOTES, partial(draw, sheet) if rows else None, alt)


def _rows(system: str, method: str, runs: Sequence[Result]) -> list[Row]:
    return [_row(system, method, name, [run["consistency"][name] for run in runs]) for name in runs[0]["consistency"]]


def _row(system: str, method: str, name: str, found: Sequence[dict[str, float]]) -> Row:
    cv, error = Summary.of([one["cv"] for one in found]), ratio(found)
    spread = found[0]["spread"]
    verdict = "collapsed" if collapsed(cv.order, error.order, spread) else ""
    place = {"system": system, "parameter": name, "method": method, "seeds": len(found)}
    return {**place, "cv": cv, "spread": spread, "ratio": error, "verdict": verdict}


def collapsed(cv: float, ratio: float, spread: float) -> bool:
    """Steady, and no better than the prior's mean."""
    return ratio >= USELESS and cv < STEADY * spread


def draw(sheet: Sheet) -> Figure:
    """A panel for each parameter."""
    from greymatch.bench.pictures import MUTED, legend, log_axes, method_line, panels

    rows = grouped(sheet.rows, lambda row: f"{row['system']}: {row['parameter']}")
    figure, grid = panels(list(rows), (2.7, 2.3), columns=4)
    for axes, of_parameter in zip(grid, rows.values(), strict=True):
        for row in of_parameter:
            _draw_row(axes, row)
        axes.axhline(1.0, color=MUTED, lw=1)
        axes.set(xlim=_limits(sheet, "cv", 0.01, 0.1), ylim=_limits(sheet, "ratio", 0.1, 1.0))
        log_axes(axes)
        axes.set(xlabel="CV over sliding windows", ylabel="RMSE over the prior's")
    legend(figure, [method_line(method, lw=0) for method in grouped(sheet.rows, lambda row: str(row["method"]))])
    return figure


def _limits(sheet: Sheet, key: str, low: float, high: float) -> tuple[float, float]:
    """The same for all panels, and never so narrow that small differences look large."""
    found = [cell.mean for row in sheet.rows if isinstance(cell := row[key], Summary) and cell.mean]
    return min([low, *found]) / 2, max([high, *found]) * 2


def _draw_row(axes: Axes, row: Mapping[str, Cell]) -> None:
    from greymatch.bench.pictures import style_of

    cv, ratio, style = row["cv"], row["ratio"], style_of(str(row["method"]))
    if isinstance(cv, Summary) and isinstance(ratio, Summary) and cv.mean and ratio.mean:
        filled = "none" if row["verdict"] else style.colour
        axes.plot(cv.mean, ratio.mean, color=style.colour, marker=style.marker, mfc=filled, ms=7, lw=0)


BENCHMARK = Benchmark(
    "consistency",
    "How much inferred parameters vary over sliding windows, beside their error.",
    view,
    methods=GREY_BOX,
)
