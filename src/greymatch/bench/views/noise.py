"""What noise on the observations costs each method, and what smoothing is worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from greymatch.bench.benchmark import Benchmark, Choice, Plan, noisy
from greymatch.bench.plan import Run
from greymatch.bench.sheet import Row, Sheet
from greymatch.bench.summary import Result, Summary, by_method, by_system, grouped, mse, noise_of, percent, ratio
from greymatch.bench.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVELS = (0.01, 0.05, 0.1)
OURS, METHODS = "vgb-dm", ("vgb-dm", "physvae", "bb-node")
RAW = "raw"  # ends the label of a run that takes the data as they are
HEADS = {
    "system": "system",
    "noise": "noise",
    "method": "method",
    "seeds": "seeds",
    "mse": "MSE",
    "coverage": "90 % coverage",
    "parameters": "parameter RMSE / prior's",
    "covered": "parameters' 90 % coverage",
}
NOTES = (
    "White noise on all observations that are learned from, validated on and given to forecasts; its standard "
    "deviation is so many percent of each state's spread over the training split. Forecasts are judged by the test "
    "trajectories without it. Every method assumes the noise that it estimates, and sees smoothed windows.",
    f"`{OURS}, {RAW}` takes the data as they are (`data.noise = 0`).",
    "Bold: the best at each level of noise.",
)


def plan(choice: Choice) -> Plan:
    """Every method at every level, and ours with nothing smoothed."""
    combinations = [(s, level, seed) for seed in choice.seeds for s in choice.systems for level in choice.noise]
    return Plan([run for which in combinations for run in _at(choice, *which)])


def _at(choice: Choice, system: str, level: float, seed: int) -> list[Run]:
    more = noisy(level)
    runs = [choice.run(system, method, seed, **more) for method in choice.methods]
    if level and OURS in choice.methods:
        raw = more | {"label": f"{more['label']}-{RAW}"}
        runs.append(choice.run(system, OURS, seed, {"data.noise": 0}, **raw))
    return runs


def view(results: Sequence[Result]) -> View:
    rows = [row for system, runs in by_system(results).items() for row in _rows(system, runs)]
    sheet = Sheet("Forecasts from noisy data", HEADS, rows, _best(rows))
    alt = "Forecast MSE against the noise on the observations, one panel a system"
    return View({"noise": sheet}, NOTES, partial(draw, results) if rows else None, alt)


def named(result: Result) -> str:
    """The method, and whether it took the data as they are."""
    return f"{result['method']}, {RAW}" if result["label"].endswith(RAW) else result["method"]


def _rows(system: str, results: Sequence[Result]) -> list[Row]:
    found = grouped(results, lambda result: (noise_of(result), named(result)))
    return [_row(system, *key, runs) for key, runs in sorted(found.items(), key=lambda item: item[0][0])]


def _row(system: str, level: float, method: str, runs: Sequence[Result]) -> Row:
    parameters = {name: [run["parameters"][name] for run in runs] for name in runs[0]["parameters"]}
    return {
        "system": system,
        "noise": percent(level),
        "method": method,
        "seeds": len(runs),
        "mse": mse(runs),
        "coverage": Summary.of([run["scores"]["coverage"] for run in runs]),
        "parameters": ", ".join(f"{name} {ratio(of_runs).text()}" for name, of_runs in parameters.items()),
        "covered": ", ".join(
            f"{name} {Summary.of([one['coverage'] for one in of_runs]).text()}" for name, of_runs in parameters.items()
        ),
    }


def _best(rows: Sequence[Row]) -> frozenset[tuple[int, str]]:
    """Cells of the least error of each system and level."""
    best = set()
    for places in grouped(range(len(rows)), lambda i: (rows[i]["system"], rows[i]["noise"])).values():
        first = min(places, key=lambda i: _order(rows[i]))
        best |= {(first, "method"), (first, "mse")}
    return frozenset(best)


def _order(row: Row) -> float:
    error = row["mse"]
    return error.order if isinstance(error, Summary) else float("inf")


def draw(results: Sequence[Result]) -> Figure:
    from matplotlib.lines import Line2D

    from greymatch.bench.pictures import legend, log_axes, method_line, panels, style_of

    systems = by_system(results)
    figure, grid = panels(list(systems))
    for axes, runs in zip(grid, systems.values(), strict=True):
        for name, of_name in grouped(runs, named).items():
            _draw_method(axes, name, of_name)
        log_axes(axes, "y")
        axes.set(xlabel="noise (% of each state's spread)", ylabel="forecast MSE")
    raw = Line2D([], [], color=style_of(OURS).colour, ls=":", marker="o", mfc="none", ms=5)
    legend(figure, [*(method_line(method) for method in by_method(results)), (raw, f"{OURS}, {RAW}")])
    return figure


def _draw_method(axes: Axes, name: str, runs: Sequence[Result]) -> None:
    """Each seed as a dot, their mean as a line."""
    from greymatch.bench.pictures import style_of

    method, raw = name.split(",")[0], name.endswith(RAW)
    style = style_of(method)
    levels = {level: mse(of_level) for level, of_level in sorted(grouped(runs, noise_of).items())}
    line, fill = (":", "none") if raw else ("-", style.colour)
    percent, means = [100 * level for level in levels], [error.order for error in levels.values()]
    axes.plot(percent, means, color=style.colour, marker=style.marker, ms=5, ls=line, mfc=fill)
    points = [(100 * noise_of(run), run["scores"]["mse"]) for run in runs if run["scores"]["mse"] is not None]
    axes.plot([x for x, _ in points], [y for _, y in points], color=style.colour, marker=".", ms=3, lw=0, alpha=0.6)


BENCHMARK = Benchmark(
    "noise",
    "Forecasts and parameters from data with 1, 5 and 10 % of noise, judged by the truth without it.",
    view,
    plan,
    systems=("pendulum", "lorenz"),
    methods=METHODS,
    noise=LEVELS,
)
