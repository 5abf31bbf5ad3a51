"""Whether the physics' parameters are found: their error over that of the prior's mean, beside the forecast's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.sheet import Cell, Row, Sheet
from greymatch.bench.summary import NO_NOISE, Result, Summary, by_method, by_system_and_noise, mse, percent, ratio
from greymatch.bench.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY_BOX = ("vgb-dm", "gb-dm", "physvae")
HEADS = {
    "system": "system",
    "noise": "noise",
    "parameter": "parameter",
    "method": "method",
    "seeds": "seeds",
    "ratio": "RMSE / prior's",
    "rmse": "RMSE",
    "prior_rmse": "prior's RMSE",
    "coverage": "90 % coverage",
    "mse": "forecast MSE",
}
NOTES = (
    "RMSE of the posterior's mean over the test trajectories, and the same over that of the prior's mean: 1 is as good "
    "as not looking at the data, 0.1 is the goal. Coverage: the share of true parameters within the 90 % intervals.",
    "A good forecast does not say that the parameters are right: the learned part can make up for them.",
)


def view(results: Sequence[Result]) -> View:
    rows = [row for found in by_system_and_noise(results) for row in _rows(*found)]
    rows.sort(key=lambda row: (str(row["system"]), str(row["parameter"])))
    heads = {key: head for key, head in HEADS.items() if key != "noise" or any(row[key] != NO_NOISE for row in rows)}
    sheet = Sheet("Parameters beside forecasts", heads, rows)
    alt = "Parameter RMSE over the prior's, for each parameter and method"
    return View({"parameters": sheet}, NOTES, partial(draw, sheet) if rows else None, alt)


def _rows(system: str, noise: float, results: Sequence[Result]) -> list[Row]:
    return [
        {
            "system": system,
            "noise": percent(noise),
            "parameter": name,
            "method": method,
            "seeds": len(runs),
            "ratio": ratio([run["parameters"][name] for run in runs]),
            **{kind: Summary.of([run["parameters"][name][kind] for run in runs]) for kind in ("rmse", "coverage")},
            "prior_rmse": runs[0]["parameters"][name]["prior_rmse"],
            "mse": mse(runs),
        }
        for method, runs in by_method(results).items()
        for name in runs[0]["parameters"]
    ]


def draw(sheet: Sheet) -> Figure:
    from matplotlib.lines import Line2D

    from greymatch.bench.pictures import MUTED, legend, log_axes, method_line, panels, style_of

    names = list(dict.fromkeys(_named(row) for row in sheet.rows))
    methods = list(dict.fromkeys(str(row["method"]) for row in sheet.rows))
    figure, (axes,) = panels([""], (7.0, 1.3 + 0.42 * len(names)))
    for row in sheet.rows:
        style, ratio = style_of(str(row["method"])), row["ratio"]
        place = -names.index(_named(row)) - 0.18 * (methods.index(str(row["method"])) - 1)
        if isinstance(ratio, Summary):
            axes.errorbar(ratio.order, place, xerr=ratio.error, color=style.colour, marker=style.marker, ms=6, lw=1)
    axes.axvline(1.0, color=MUTED, lw=1)
    axes.axvline(0.1, color=MUTED, lw=1, ls=(0, (4, 2)))
    log_axes(axes, "x")
    axes.set_xlabel("RMSE over that of the prior's mean")
    axes.set_yticks([-i for i in range(len(names))], names)
    axes.set_ylim(0.6 - len(names), 0.6)
    lines = [
        (Line2D([], [], color=MUTED, lw=1), "the prior's mean"),
        (Line2D([], [], color=MUTED, lw=1, ls=(0, (4, 2))), "a tenth of it"),
    ]
    legend(figure, [*(method_line(method, lw=0) for method in methods), *lines])
    return figure


def _named(row: Mapping[str, Cell]) -> str:
    noise = "" if row["noise"] == NO_NOISE else f" at {row['noise']}"
    return f"{row['system']}: {row['parameter']}{noise}"


BENCHMARK = Benchmark(
    "parameters",
    "Parameter RMSE over that of the prior's mean, coverage of the intervals, and forecast error.",
    view,
    methods=GREY_BOX,
    noise=(0.0,),
)
