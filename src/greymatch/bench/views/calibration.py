"""Whether error bars hold what they say: coverage at several levels, CRPS, and spread over error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.sheet import Cell, Row, Sheet
from greymatch.bench.summary import Result, Summary, by_system_and_method, grouped
from greymatch.bench.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORECAST, ALL = "forecast", "all"
LEVELS = {"50": 0.5, "80": 0.8, "90": 0.9, "95": 0.95}
LATEST, EARLIER = 0.9, 19  # the one level that older results tell, and the draws it takes
RIGHT = (0.85, 0.95)
DASHES = (0, (3, 1.5))
HEADS = {
    "system": "system",
    "of": "of",
    "method": "method",
    "seeds": "seeds",
    **{name: f"{name} %" for name in LEVELS},
    "crps": "CRPS",
    "spread_skill": "spread / error",
}
NOTES = (
    "Share of the truth within central intervals of each level, on the test split: the level itself is right, and 85 "
    "to 95 % the goal at 90 %. Less is over-confident, more over-cautious. Spread over error: 1 is right.",
    "CRPS in units of the state or parameter, pooled over states; it is small only where intervals are honest and "
    "narrow, so it ranks methods where coverage does not.",
    "–: so few draws reach no such level (5 reach 67 %), or the run is from before it was measured.",
)


def view(results: Sequence[Result]) -> View:
    rows = [row for found in by_system_and_method(results) for row in _rows(*found)]
    rows.sort(key=lambda row: str(row["system"]))
    sheet = Sheet("Do error bars hold what they say?", HEADS, rows)
    alt = "Observed against nominal coverage, one panel a system: forecasts solid, parameters dashed"
    return View({"calibration": sheet}, NOTES, partial(draw, sheet) if rows else None, alt)


def _rows(system: str, method: str, runs: Sequence[Result]) -> list[Row]:
    """The forecast first, then each parameter."""
    names = (FORECAST, *runs[0]["parameters"])
    place: Row = {"system": system, "method": method, "seeds": len(runs)}
    return [{**place, "of": name, **_cells([_told(run, name) for run in runs])} for name in names]


def _cells(told: Sequence[Mapping[str, float | None]]) -> Row:
    """The mean over those runs that know a figure."""
    return {key: Summary.of(list(_known(one.get(key) for one in told))) for key in (*LEVELS, "crps", "spread_skill")}


def _known(values: Iterable[float | None]) -> Iterable[float]:
    return (value for value in values if value is not None)


def _told(run: Result, name: str) -> dict[str, float | None]:
    """What a run tells of its forecast or of a parameter; older ones tell less."""
    older = run["scores"] if name == FORECAST else run["parameters"][name]
    reached = name != FORECAST or run["draws"] >= EARLIER
    told = {"90": older.get("coverage") if reached else None, "crps": older.get("crps")}
    told |= {"spread_skill": older.get("spread_skill")}
    measured = _measured(run, name)
    return told | ({} if measured is None else _figures(run["calibration"]["levels"], measured, told["crps"]))


def _measured(run: Result, name: str) -> dict[str, Any] | None:
    found = run.get("calibration", {})
    return found.get("forecasts", {}).get(ALL) if name == FORECAST else found.get("parameters", {}).get(name)


def _figures(levels: Sequence[float], measured: Mapping[str, Any], crps: float | None) -> dict[str, float | None]:
    """The CRPS of forecasts is that of the table, in the units of the states."""
    shares = dict(zip(levels, measured["coverage"], strict=True))
    own = {name: shares.get(level) for name, level in LEVELS.items()}
    return own | {"crps": measured["crps"] if crps is None else crps, "spread_skill": measured["spread_skill"]}


def draw(sheet: Sheet) -> Figure:
    from matplotlib.lines import Line2D

    from greymatch.bench.pictures import MUTED, legend, method_line, panels

    systems = grouped(sheet.rows, lambda row: str(row["system"]))
    figure, grid = panels(list(systems))
    for axes, rows in zip(grid, systems.values(), strict=True):
        axes.plot([0.4, 1], [0.4, 1], color=MUTED, lw=1)
        axes.vlines(LATEST, *RIGHT, color=MUTED, lw=4, alpha=0.5)
        for row in rows:
            _draw_row(axes, row)
        axes.set(xlim=(0.45, 1), ylim=(-0.04, 1.04), xlabel="level of the interval", ylabel="share of the truth inside")
    methods = grouped(sheet.rows, lambda row: str(row["method"]))
    kinds = [
        (Line2D([], [], color="black", marker="o", ms=5), "forecast"),
        (Line2D([], [], color="black", marker="o", ms=5, mfc="none", ls=DASHES), "parameter"),
        (Line2D([], [], color=MUTED, lw=4, alpha=0.5), "the goal at 90 %"),
    ]
    legend(figure, [*(method_line(method, lw=0) for method in methods), *kinds], 2 * min(len(systems), 3))
    return figure


def _draw_row(axes: Axes, row: Mapping[str, Cell]) -> None:
    from greymatch.bench.pictures import style_of

    found = {LEVELS[key]: cell.mean for key in LEVELS if isinstance(cell := row[key], Summary)}
    points = [(level, share) for level, share in found.items() if share is not None]
    style, whole = style_of(str(row["method"])), row["of"] == FORECAST
    look: dict[str, Any] = {"color": style.colour, "marker": style.marker, "ms": 5, "lw": 1.2}
    look |= {} if whole else {"ls": DASHES, "mfc": "none"}
    if points:
        axes.plot(*zip(*points, strict=True), **look)


BENCHMARK = Benchmark(
    "calibration",
    "Coverage at 50, 80, 90 and 95 %, CRPS and spread over error, of forecasts and parameters.",
    view,
)
