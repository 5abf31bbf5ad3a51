"""How many trajectories learning needs: test error against the size of the training split."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from greymatch.bench.benchmark import FIELDS, Benchmark, Choice, Plan
from greymatch.bench.plan import Run, system_named
from greymatch.bench.sheet import Row, Sheet
from greymatch.bench.summary import Result, by_method, by_system, grouped, mse
from greymatch.bench.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES, SIZES_OF_FIELDS = (10, 50, 250, 1000), (10, 25, 50)
MINUTES = 0.5  # of each of many runs
NOTES = (
    "Learned from the first so many trajectories of the training split; validated and judged on the whole of the other "
    f"splits (of fields, the first {FIELDS} of the test split), at the same training time.",
)


def plan(choice: Choice) -> Plan:
    combinations = [(s, m, seed) for seed in choice.seeds for s in choice.systems for m in choice.methods]
    return Plan([run for which in combinations for run in _sizes(choice, *which)])


def _sizes(choice: Choice, system: str, method: str, seed: int) -> list[Run]:
    budget, test = choice.within(MINUTES), choice.judged_on(system)
    sizes = SIZES_OF_FIELDS if system_named(system).physics.grid else SIZES
    return [choice.run(system, method, seed, budget, label=f"n{size}", train=size, **test) for size in sizes]


def view(results: Sequence[Result]) -> View:
    rows = [_row(system, size, runs) for (system, size), runs in grouped(results, _place).items()]
    rows.sort(key=lambda row: (list(by_system(results)).index(str(row["system"])), int(str(row["trajectories"]))))
    heads = {name: name for name in ("system", "trajectories", *by_method(results))}
    sheet = Sheet("Forecast MSE by number of training trajectories", heads, rows)
    alt = "Test MSE against the number of training trajectories, one panel a system"
    return View({"samples": sheet}, NOTES, partial(draw, results), alt)


def _place(result: Result) -> tuple[str, int]:
    return result["system"], result["trajectories"]["train"]


def _row(system: str, size: int, results: Sequence[Result]) -> Row:
    errors: Row = {method: mse(runs) for method, runs in by_method(results).items()}
    return {"system": system, "trajectories": size, **errors}


def draw(results: Sequence[Result]) -> Figure:
    from greymatch.bench.pictures import legend, log_axes, method_line, panels, style_of

    systems = by_system(results)
    figure, grid = panels(list(systems))
    for axes, (_, of_system) in zip(grid, systems.items(), strict=True):
        for method, runs in by_method(of_system).items():
            points = sorted((size, mse(found).order) for (_, size), found in grouped(runs, _place).items())
            style = style_of(method)
            axes.plot(*zip(*points, strict=True), color=style.colour, marker=style.marker, ms=4.5)
        log_axes(axes)
        axes.set(xlabel="training trajectories", ylabel="forecast MSE")
    legend(figure, [method_line(method) for method in by_method(results)])
    return figure


BENCHMARK = Benchmark(
    "samples",
    "Forecast MSE against the number of training trajectories.",
    view,
    plan,
    systems=("pendulum", "rlc", "reaction_diffusion", "lorenz"),
    seeds=(0,),
)
