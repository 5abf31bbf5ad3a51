"""How fast forecasts get better: validation MSE against training time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.plan import system_named
from greymatch.bench.sheet import Row, Sheet, per_method
from greymatch.bench.summary import Result, Summary, by_method, by_system
from greymatch.bench.view import View

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS = "vgb-dm"
HEADS = {
    "system": "system",
    "method": "method",
    "seeds": "seeds",
    "paper_ours": f"paper's {OURS}",
    "seconds_to_ours": "s to reach it",
    "reached_ours": "seeds that did",
    "paper_own": "paper's, this method",
    "seconds_to_own": "s to reach that",
    "final": "last validation MSE",
    "windows_per_second": "windows / s",
}
NOTES = (
    "MSE of the central forecast on validation trajectories, with the averaged weights, at each validation of the run; "
    "the clock counts training and validation. The learning rate falls to zero at the end of the budget, so the same "
    "error is reached later in a longer run.",
    "Seconds to reach the paper's MSE: median over the seeds, – if half of them never did. The time is that of the "
    "first validation below it, so it cannot be finer than the time between two.",
)


def view(results: Sequence[Result]) -> View:
    sheet = Sheet("Time to the paper's MSE", HEADS, per_method(results, _times))
    alt = "Validation MSE against training time, one panel a system"
    return View({"convergence": sheet}, NOTES, partial(draw, results), alt)


def _times(system: str, method: str, runs: Sequence[Result]) -> Row:
    paper = system_named(system).paper_mse
    ours, own = ([seconds_to(run["curve"], paper.get(name)) for run in runs] for name in (OURS, method))
    return {
        "paper_ours": paper.get(OURS),
        "seconds_to_ours": _median(ours),
        "reached_ours": f"{sum(found is not None for found in ours)} of {len(runs)}",
        "paper_own": paper.get(method),
        "seconds_to_own": _median(own),
        "final": Summary.of([(run["curve"]["mse"] or [None])[-1] for run in runs]),
        "windows_per_second": Summary.of([run["windows_per_second"] for run in runs]),
    }


def seconds_to(curve: dict[str, list[float | None]], target: float | None) -> float | None:
    """When a curve first lies at or below `target`; None if it never does."""
    if target is None:
        return None
    pairs = zip(curve["seconds"], curve["mse"], strict=True)
    return next((seconds for seconds, error in pairs if error is not None and error <= target), None)


def _median(values: Sequence[float | None]) -> float | None:
    """Never is later than any time."""
    middle = statistics.median(math.inf if value is None else value for value in values)
    return middle if math.isfinite(middle) else None


def draw(results: Sequence[Result]) -> Figure:
    from matplotlib.lines import Line2D

    from greymatch.bench.pictures import MUTED, legend, log_axes, method_line, panels

    systems = by_system(results)
    figure, grid = panels(list(systems))
    for axes, (system, runs) in zip(grid, systems.items(), strict=True):
        for method, of_method in by_method(runs).items():
            _draw_method(axes, method, of_method)
        paper = system_named(system).paper_mse.get(OURS)
        if paper is not None:
            axes.axhline(paper, color=MUTED, ls=(0, (4, 2)), lw=1)
        log_axes(axes)
        axes.set(xlabel="training time (s)", ylabel="validation MSE")
    entries = [method_line(method, marker="") for method in by_method(results)]
    legend(figure, [*entries, (Line2D([], [], color=MUTED, ls=(0, (4, 2)), lw=1), f"paper's {OURS}")])
    return figure


def _draw_method(axes: Axes, method: str, runs: Sequence[Result]) -> None:
    """Each seed thin, and their geometric mean over the time they share."""
    from greymatch.bench.pictures import style_of

    colour = style_of(method).colour
    curves = [_points(run["curve"]) for run in runs]
    curves = [points for points in curves if points.shape[1]]
    for seconds, errors in curves:
        axes.plot(seconds, errors, color=colour, lw=0.7, alpha=0.45)
    if curves:
        seconds, mean = _shared(curves)
        axes.plot(seconds, mean, color=colour, lw=1.8)


def _points(curve: dict[str, list[float | None]]) -> np.ndarray:
    """Seconds and errors (2, n) where the error is finite."""
    import numpy as np

    pairs = [pair for pair in zip(curve["seconds"], curve["mse"], strict=True) if None not in pair]
    return np.array(pairs, dtype=float).reshape(-1, 2).T


def _shared(curves: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    first, last = max(points[0, 0] for points in curves), min(points[0, -1] for points in curves)
    seconds = np.geomspace(max(first, 1e-3), max(last, first, 1e-3), 100)
    logs = [np.interp(np.log(seconds), np.log(points[0]), np.log(points[1])) for points in curves]
    return seconds, np.exp(np.mean(logs, 0))


BENCHMARK = Benchmark(
    "convergence",
    "Validation MSE against training time for all methods, and the time to reach the paper's MSE.",
    view,
    systems=("pendulum", "rlc", "reaction_diffusion"),
)
