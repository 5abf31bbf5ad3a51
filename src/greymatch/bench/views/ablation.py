"""What each part of the method is worth: one thing changed at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from greymatch.bench.benchmark import FIELDS, Benchmark, Choice, Plan
from greymatch.bench.plan import Run, system_named
from greymatch.bench.sheet import Row, Sheet
from greymatch.bench.summary import Result, Summary, by_system, grouped, mse, ratio
from greymatch.bench.variants import NET, VARIANTS, Variant
from greymatch.bench.view import View
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from greymatch.data.trajectories import Trajectories

HEADS = {
    "system": "system",
    "part": "part",
    "variant": "variant",
    "seeds": "seeds",
    "mse": "MSE",
    "times": "times the net's",
    "parameters": "parameter RMSE / prior's",
    "speed": "windows / s",
}
MINUTES = 0.5  # of each of many runs
NOTES = (
    "The first row is the method, whose beginning may find the law before any training; the second learns all of it "
    "with a net. From there one thing is changed at a time, all else as in the second row; the same training time.",
    f"Of fields, the first {FIELDS} of the test split are forecast.",
)


def plan(choice: Choice) -> Plan:
    """Every variant that the system and the settings allow."""
    found = [(system, variant, why) for system in choice.systems for variant, why in _judged(choice, system)]
    runs = [_run(choice, s, variant, seed) for seed in choice.seeds for s, variant, why in found if not why]
    return Plan(runs, [f"{s}, {v.part} {v.meaning}: left out. {why}" for s, v, why in found if why])


def _run(choice: Choice, system: str, variant: Variant, seed: int) -> Run:
    changed = {**choice.within(MINUTES), **changes(variant, system)}
    return choice.run(system, variant.method, seed, changed, label=variant.label, **choice.judged_on(system))


def changes(variant: Variant, system: str) -> dict[str, Any]:
    """The settings that a variant changes on this system, whose sampling step a limit in steps needs."""
    if variant.steps_ahead is None:
        return dict(variant.changes)
    times = system_named(system).splits["train"].times
    return {**variant.changes, "matching.horizon": round(variant.steps_ahead * float(times[1] - times[0]), 9)}


def _judged(choice: Choice, system: str) -> list[tuple[Variant, str]]:
    """Each variant, and why it cannot be run or says nothing; empty if it can."""
    example, net = system_named(system).data("val", trajectories=1), _flat(choice, system)
    return [(variant, _unfit(choice, system, variant, net, example)) for variant in VARIANTS]


def _unfit(choice: Choice, system: str, variant: Variant, net: dict[str, Any], example: Trajectories) -> str:
    from greymatch.matching.observed import interpolated

    own = variant.changes.items() - NET.changes.items()
    if own and own <= net.items():
        return "The method is so already."
    if variant.grids and not example.grid:
        return "It has no grid."
    try:
        settings = _run(choice, system, variant, 0).settings()
        interpolated(example, settings, system_named(system).physics.order)
    except GreymatchError as error:
        return str(error)
    return ""


def _flat(choice: Choice, system: str) -> dict[str, Any]:
    """The settings that variants change, by dotted key."""
    net = _run(choice, system, NET, 0).settings().model_dump()
    sections = {key: value for key, value in net.items() if isinstance(value, dict)}
    return {f"{section}.{key}": value for section, keys in sections.items() for key, value in keys.items()}


def view(results: Sequence[Result]) -> View:
    rows = [row for system, runs in by_system(results).items() for row in _rows(system, runs)]
    whole = frozenset((i, key) for i, row in enumerate(rows) if not row["part"] for key in ("variant", "mse"))
    sheet = Sheet("One thing changed at a time", HEADS, rows, whole)
    alt = "Forecast MSE of each variant"
    return View({"ablation": sheet}, NOTES, partial(draw, sheet) if rows else None, alt)


def _rows(system: str, results: Sequence[Result]) -> list[Row]:
    found = grouped(results, lambda result: (result["label"], result["method"]))
    net = mse(found.get((NET.label, NET.method), [])).mean
    there = [(variant, found.get((variant.label, variant.method), [])) for variant in VARIANTS]
    return [_row(system, variant, runs, net) for variant, runs in there if runs]


def _row(system: str, variant: Variant, runs: Sequence[Result], net: float | None) -> Row:
    error = mse(runs)
    return {
        "system": system,
        "part": variant.part,
        "variant": variant.meaning,
        "seeds": len(runs),
        "mse": error,
        "times": error.mean / net if error.mean is not None and net else None,
        "parameters": ", ".join(
            f"{name} {ratio([run['parameters'][name] for run in runs]).text()}" for name in runs[0]["parameters"]
        ),
        "speed": Summary.of([run["windows_per_second"] for run in runs]),
    }


def draw(sheet: Sheet) -> Figure:
    from greymatch.bench.pictures import MUTED, log_axes, panels, style_of

    systems = list(dict.fromkeys(str(row["system"]) for row in sheet.rows))
    keys = ("system", "part", "variant") if len(systems) > 1 else ("part", "variant")
    names = [": ".join(str(row[key]) for key in keys if row[key]) for row in sheet.rows]
    figure, (axes,) = panels([", ".join(systems)], (7.0, 0.9 + 0.3 * len(names)))
    for place, row in enumerate(sheet.rows):
        error, own = row["mse"], not row["part"]
        if isinstance(error, Summary):
            colour = style_of("vgb-dm").colour if own else "black"
            axes.errorbar(error.order, -place, xerr=error.error, color=colour, marker="o", ms=5.5, lw=1)
            axes.axvline(error.order, color=MUTED, lw=0.8, ls=(0, (4, 2))) if row["variant"] == NET.meaning else None
    log_axes(axes, "x")
    axes.set_xlabel("forecast MSE on the test split")
    axes.set_yticks([-i for i in range(len(names))], names)
    return figure


BENCHMARK = Benchmark(
    "ablation",
    "What each part is worth, one changed at a time: interpolant, future matching, posterior, penalty, physics.",
    view,
    plan,
    systems=("lorenz",),
    methods=(),
)
