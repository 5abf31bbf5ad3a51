"""The honest table: forecast errors of all methods on all systems, beside the paper's and trivial rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.plan import system_named
from greymatch.bench.sheet import Row, Sheet
from greymatch.bench.summary import Result, Summary, by_method, by_system, mse, within_one_error
from greymatch.bench.view import View
from greymatch.bench.watch import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS = "vgb-dm"
TIE = " ≈"
HEADS = {
    "system": "system",
    "method": "method",
    "seeds": "seeds",
    "mse": "MSE",
    "central_mse": "central MSE",
    "crps": "CRPS",
    "coverage": "90 % coverage",
    "seconds": "training s",
    "windows_per_second": "windows / s",
    "weights": "weights (encoder + field)",
    "paper_mse": "paper's MSE",
}
NOTES = (
    "Mean ± sample standard deviation over seeds, on the test split; smaller is better. Bold: the best method. "
    f"{TIE.strip()}: {OURS} is not first, but within one standard error (of the difference of the means) of the first.",
    "`MSE` is that of the ensemble's mean, `central MSE` that of the single forecast from the posterior's centre.",
    "The paper's numbers are for its own data, drawn from the same distributions, and its own protocol.",
)


def view(results: Sequence[Result]) -> View:
    sheets = {"matrix": matrix(results), "table": table(results)}
    alt = "Forecast MSE of every method on every system, with the references as ticks"
    return View(sheets, NOTES, partial(draw, results), alt)


def matrix(results: Sequence[Result]) -> Sheet:
    """Systems by methods."""
    systems = by_system(results)
    methods = list(by_method(results))
    rows: list[Row] = []
    bold, marks = set(), {}
    for i, (system, runs) in enumerate(systems.items()):
        found = {method: mse(of_method) for method, of_method in by_method(runs).items()}
        best = min(found, key=lambda method: found[method].order)
        bold.add((i, best))
        if OURS in found and best != OURS and within_one_error(found[OURS], found[best]):
            marks[i, OURS] = TIE
        paper = system_named(system).paper_mse.get(OURS)
        rows.append({"system": system, **found, "reference": best_reference(runs), "paper": paper})
    heads = {name: name for name in ("system", *methods)} | {"reference": "best reference", "paper": f"paper's {OURS}"}
    return Sheet("Forecast MSE, systems by methods", heads, rows, frozenset(bold), marks)


def best_reference(runs: Sequence[Result]) -> str:
    known = {name: scores["mse"] for name, scores in runs[0]["references"].items() if scores["mse"] is not None}
    if not known:
        return "–"
    best = min(known, key=lambda name: known[name])
    return f"{number(known[best])} ({best})"


def table(results: Sequence[Result]) -> Sheet:
    """System after system, best first, references among the methods."""
    rows = [row for system, runs in by_system(results).items() for row in _of_system(system, runs)]
    methods = frozenset((i, key) for i, row in enumerate(rows) if row["seeds"] is not None for key in ("method", "mse"))
    return Sheet("Everything, best first", HEADS, rows, methods)


def _of_system(system: str, results: Sequence[Result]) -> list[Row]:
    found = [_method_row(system, method, runs) for method, runs in by_method(results).items()]
    found += [_reference_row(system, name, scores) for name, scores in results[0]["references"].items()]
    return sorted(found, key=_order)


def _order(row: Row) -> float:
    cell = row["mse"]
    return cell.order if isinstance(cell, Summary) else float("inf")


def _method_row(system: str, method: str, runs: Sequence[Result]) -> Row:
    def over(section: str | None, key: str) -> Summary:
        return Summary.of([(run[section] if section else run)[key] for run in runs])

    return {
        "system": system,
        "method": method,
        "seeds": len(runs),
        "mse": mse(runs),
        "central_mse": over("central", "mse"),
        "nmse": over("scores", "nmse"),
        "crps": over("scores", "crps"),
        "coverage": over("scores", "coverage"),
        "seconds": over(None, "training_seconds"),
        "windows_per_second": over(None, "windows_per_second"),
        "validation_error": over(None, "validation_error"),
        "weights": _weights(runs[0]["weights"]),
        "paper_mse": system_named(system).paper_mse.get(method),
    }


def _weights(counts: dict[str, int]) -> str:
    return f"{counts['total']} ({counts.get('encoder', 0)} + {counts.get('field', 0)})"


def _reference_row(system: str, name: str, scores: dict[str, float | None]) -> Row:
    measures: Row = {key: Summary(scores[key]) for key in ("mse", "nmse", "crps")}
    return {"system": system, "method": name, "seeds": None, **measures, "central_mse": measures["mse"]}


def draw(results: Sequence[Result]) -> Figure:
    """A line for each system: seeds as dots, means as markers, references as ticks, the paper's as a ring."""
    from matplotlib.lines import Line2D

    from greymatch.bench.pictures import MUTED, legend, log_axes, method_line, panels

    systems = by_system(results)
    figure, (axes,) = panels([""], (8.0, 1.3 + 0.75 * len(systems)))
    for place, (system, runs) in enumerate(systems.items()):
        _draw_system(axes, -place, system, runs)
    log_axes(axes, "x")
    axes.set_xlabel("forecast MSE on the test split")
    axes.set_yticks([-i for i in range(len(systems))], list(systems))
    axes.set_ylim(0.6 - len(systems), 0.6)
    axes.grid(axis="y", visible=False)
    others = [
        (Line2D([], [], color=MUTED, marker="|", ms=11, lw=0), "references"),
        (Line2D([], [], color="black", marker="o", mfc="none", ms=8, lw=0), f"paper's {OURS}"),
    ]
    legend(figure, [*(method_line(method, lw=0) for method in by_method(results)), *others], 7)
    return figure


def _draw_system(axes: Axes, place: int, system: str, runs: Sequence[Result]) -> None:
    from greymatch.bench.pictures import MUTED, style_of

    methods = by_method(runs)
    for scores in runs[0]["references"].values():
        axes.plot([scores["mse"] or math.nan], [place], color=MUTED, marker="|", ms=22, lw=0)
    for i, (method, of_method) in enumerate(methods.items()):
        height = place + 0.5 * (0.5 - (i + 0.5) / len(methods))
        look = {"color": style_of(method).colour, "lw": 0}
        axes.plot(
            [run["scores"]["mse"] for run in of_method], [height] * len(of_method), marker=".", ms=4, alpha=0.6, **look
        )
        axes.plot([mse(of_method).order], [height], marker=style_of(method).marker, ms=6, **look)
    paper = system_named(system).paper_mse.get(OURS, math.nan)
    axes.plot([paper], [place], color="black", marker="o", mfc="none", ms=8, lw=0)


BENCHMARK = Benchmark(
    "table",
    "Forecast MSE of every method on every system, mean and spread over seeds, beside trivial predictors.",
    view,
)
