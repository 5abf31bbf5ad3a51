"""Whether what a model says was missing is what was missing, and what the model refitted with it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from greymatch.bench.benchmark import Benchmark, Choice, Plan, every
from greymatch.bench.sheet import Cell, Row, Sheet
from greymatch.bench.summary import NO_NOISE, Result, Summary, by_system_and_noise, percent, ratio
from greymatch.bench.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODELS, HORIZONS = ("network", "refitted"), ("once", "twice")
HEADS = {
    "system": "system",
    "noise": "noise",
    "seeds": "seeds",
    "right": "right terms alone",
    "missing": "missing, coefficients in the median",
    "error": "worst coefficient's error",
    "fidelity": "fidelity",
    "network_once": "net's MSE",
    "refitted_once": "refitted MSE",
    "network_twice": "net's, twice the horizon",
    "refitted_twice": "refitted, twice the horizon",
    "network_covered": "net's 90 % coverage",
    "refitted_covered": "refitted 90 % coverage",
    "network_fresh": "net's, 1000 more",
    "refitted_fresh": "refitted, 1000 more",
}
PARAMETER_HEADS = {
    "system": "system",
    "noise": "noise",
    "parameter": "parameter",
    "seeds": "seeds",
    "network": "net's RMSE / prior's",
    "refitted": "refitted RMSE / prior's",
    "network_covered": "net's 90 % coverage",
    "refitted_covered": "refitted 90 % coverage",
    "network_fresh": "net's, 1000 more",
    "refitted_fresh": "refitted, 1000 more",
}
NOTES = (
    "Terms from the training split. Right: these and no others, in every equation. A coefficient's error is relative "
    "to the truth, the median over test trajectories, each asked as a whole.",
    "Refitted: the physics completed with the terms, without a net. Twice the horizon: the same trajectories with "
    "twice as much to forecast, scored over all of it. Of fields the first 20 test trajectories are forecast.",
    "Parameters from the given points alone, as RMSE over that of the prior's mean.",
    "Of a hundred trajectories a right 90 % interval holds 84 to 96 % in nineteen of twenty splits, of a thousand 88 "
    "to 92 %: so many more are drawn as the test split is, but for fields.",
)


def plan(choice: Choice) -> Plan:
    return every(choice, explain=True)


def view(results: Sequence[Result]) -> View:
    found = by_system_and_noise(results)
    sheets = {
        "explain": Sheet("What was missing?", HEADS, [_row(*one) for one in found]),
        "parameters": Sheet(
            "Parameters, amortised and refitted", PARAMETER_HEADS, [row for one in found for row in _parameters(*one)]
        ),
    }
    alt = "Forecast MSE of the net and of the model refitted with the terms found, on the horizon and on twice that"
    return View(sheets, NOTES, partial(draw, sheets["explain"]) if found else None, alt)


def _row(system: str, noise: float, runs: Sequence[Result]) -> Row:
    told = [run["explanation"] for run in runs]
    return {
        **_place(system, noise, runs),
        "right": f"{sum(one['right'] for one in told)} of {len(told)}",
        "missing": _formula(told[0]["terms"]),
        "error": Summary.of([_worst(one["terms"]) for one in told]),
        "fidelity": Summary.of([min(one["fidelity"].values(), default=None) for one in told]),
        **{f"{name}_{horizon}": _over(told, name, horizon, "mse") for horizon in HORIZONS for name in MODELS},
        **{f"{name}_covered": _over(told, name, "once", "coverage") for name in MODELS},
        **{f"{name}_fresh": _over([one.get("fresh") for one in told], name, "once", "coverage") for name in MODELS},
    }


def _place(system: str, noise: float, runs: Sequence[Result]) -> Row:
    return {"system": system, "noise": percent(noise), "seeds": len(runs)}


def _over(told: Sequence[Mapping[str, Any] | None], name: str, horizon: str, score: str) -> Summary:
    return Summary.of([one["forecasts"][name].get(horizon, {}).get(score) if one else None for one in told])


def _formula(terms: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The terms of the first seed, equation by equation."""
    return "; ".join(
        f"{state}: " + " ".join(f"{one['median']:+.3g} {text}" for text, one in of_state.items())
        for state, of_state in terms.items()
    )


def _worst(terms: Mapping[str, Mapping[str, Mapping[str, float]]]) -> float | None:
    """Of all coefficients whose truth is known; of a term that is not there in truth there is none."""
    known = [one["error"] for of_state in terms.values() for one in of_state.values() if "error" in one]
    return max(known, default=None)


def _parameters(system: str, noise: float, runs: Sequence[Result]) -> list[Row]:
    told = [run["explanation"]["parameters"] for run in runs]
    fresh = [run["explanation"].get("fresh", {}).get("parameters") for run in runs]
    return [
        {
            **_place(system, noise, runs),
            "parameter": parameter,
            **{name: ratio([one[name][parameter] for one in told]) for name in MODELS},
            **{f"{name}_covered": _held(told, name, parameter) for name in MODELS},
            **{f"{name}_fresh": _held(fresh, name, parameter) for name in MODELS},
        }
        for parameter in told[0]["network"]
    ]


def _held(told: Sequence[Mapping[str, Any] | None], name: str, parameter: str) -> Summary:
    return Summary.of([one[name][parameter]["coverage"] if one else None for one in told])


def draw(sheet: Sheet) -> Figure:
    """A line for each system: the net hollow, the refitted model filled, twice the horizon as triangles."""
    from matplotlib.lines import Line2D

    from greymatch.bench.pictures import legend, log_axes, panels, style_of

    colour = style_of("vgb-dm").colour
    figure, (axes,) = panels([""], (7.5, 1.3 + 0.45 * len(sheet.rows)))
    for place, row in enumerate(sheet.rows):
        _draw_row(axes, -place, row, colour)
    log_axes(axes, "x")
    axes.set_xlabel("forecast MSE on the test split")
    axes.set_yticks([-i for i in range(len(sheet.rows))], [_named(row) for row in sheet.rows])
    axes.set_ylim(0.6 - len(sheet.rows), 0.6)
    lines = [
        (Line2D([], [], color=colour, lw=0, ms=7, **_look(name, horizon, colour)), f"{name}, horizon {horizon}")
        for name in MODELS
        for horizon in HORIZONS
    ]
    legend(figure, lines)
    return figure


def _named(row: Mapping[str, Cell]) -> str:
    return str(row["system"]) if row["noise"] == NO_NOISE else f"{row['system']}, {row['noise']}"


def _look(name: str, horizon: str, colour: str) -> dict[str, Any]:
    return {"marker": "o" if horizon == "once" else ">", "mfc": "none" if name == "network" else colour}


def _draw_row(axes: Axes, place: float, row: Mapping[str, Cell], colour: str) -> None:
    for shift, horizon in zip((0.12, -0.12), HORIZONS, strict=True):
        for name in MODELS:
            error = row[f"{name}_{horizon}"]
            if isinstance(error, Summary) and error.mean:
                axes.plot(error.mean, place + shift, color=colour, ms=7, lw=0, **_look(name, horizon, colour))


BENCHMARK = Benchmark(
    "explain",
    "What the model says was missing against the truth, and forecasts and parameters of the model refitted with it.",
    view,
    plan,
    methods=("vgb-dm",),
    noise=(0.0,),
)
