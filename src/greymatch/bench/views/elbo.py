"""The terms of the objective: matching, and what theta and z are charged for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.history import VELOCITY
from greymatch.bench.sheet import Row, Sheet, per_method
from greymatch.bench.summary import Result, Summary, by_method, by_system
from greymatch.bench.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TERMS = {
    VELOCITY: "FM: relative velocity error",
    "matching": "FM in the objective (nats)",
    "kl_theta": "Ph-KL (nats)",
    "kl_z": "Z-KL (nats)",
    "residual": "size of the residual",
    "sensitivity": "its sensitivity",
}
HEADS = {"system": "system", "method": "method", "seeds": "seeds", **TERMS}
LAST_PART = 0.1
DRAWN = {VELOCITY: ("FM", "solid"), "kl_theta": ("Ph-KL", (0, (4, 1.5))), "kl_z": ("Z-KL", (0, (1.2, 1.2)))}
NOTES = (
    "Mean over the last tenth of a term's time, then over seeds; both KL end when settling begins, from when on "
    "nothing is encoded. The relative velocity error is the mean square of what "
    "matching leaves unexplained, in units of the data's velocities; the objective divides it by the noise learned "
    "from it, so its own matching term stays level while the fit improves. Both KL enter with weight 1.",
    "A method without a term has no number there.",
)


def view(results: Sequence[Result]) -> View:
    alt = "Matching error and both KL terms over training time, one panel a system"
    sheet = Sheet("Terms of the objective", HEADS, per_method(results, _last))
    return View({"elbo": sheet}, NOTES, partial(draw, results), alt)


def _last(system: str, method: str, runs: Sequence[Result]) -> Row:
    curves = [run["terms"]["curve"] for run in runs]
    return {name: Summary.of([_end(curve[name]) for curve in curves]) for name in TERMS if name in curves[0]}


def _end(curve: Sequence[float | None]) -> float | None:
    """The mean over the last tenth of what is known."""
    known = [value for value in curve if value is not None]
    return fmean(known[-max(1, round(LAST_PART * len(known))) :]) if known else None


def draw(results: Sequence[Result]) -> Figure:
    from matplotlib.lines import Line2D

    from greymatch.bench.pictures import legend, log_axes, method_line, panels

    systems = by_system(results)
    figure, grid = panels(list(systems))
    for axes, runs in zip(grid, systems.values(), strict=True):
        for method, of_method in by_method(runs).items():
            _draw_run(axes, method, of_method[0])
        log_axes(axes, "y")
        axes.set(xlabel="training time (s)", ylabel="value")
    kinds = [(Line2D([], [], color="black", ls=dash), name) for name, dash in DRAWN.values()]
    legend(figure, [*(method_line(method, marker="") for method in by_method(results)), *kinds])
    return figure


def _draw_run(axes: Axes, method: str, run: Result) -> None:
    """One seed: the terms of several would lie on each other."""
    from greymatch.bench.pictures import style_of

    terms = run["terms"]
    for name, (_, dash) in DRAWN.items():
        values = [value if value else float("nan") for value in terms["curve"].get(name, [])]
        if any(value > 0 for value in values):
            axes.plot(terms["seconds"], values, color=style_of(method).colour, ls=dash, lw=1.2)


BENCHMARK = Benchmark(
    "elbo",
    "The matching (FM), Ph-KL and Z-KL terms at the end of training and over it.",
    view,
    methods=("vgb-dm", "vbb-dm"),
)
