"""How errors grow with lead time."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from greymatch.evaluation import Evaluation
from greymatch.forecast.scores import Scores
from greymatch.report.colours import MODEL, TRUTH, Key, keys_of
from greymatch.report.figures import Panel, Plate, log_if_positive, new_axes, svg, thinned, with_unit

MOST_STATES = 3
FEW = 30  # lead times up to which each one is marked


def leads(evaluation: Evaluation) -> Plate:
    keys = keys_of(evaluation.model.settings.method, list(evaluation.references))
    states = evaluation.forecast.states[:MOST_STATES]
    panels = [Panel(_errors(evaluation, name, keys), f"RMSE of {name}") for name in states]
    has_bands = bool(np.isfinite(evaluation.scores.by_lead()["coverage"]).any())
    panels += [Panel(_coverage(evaluation), f"Coverage of the {_level(evaluation)} bands")] if has_bands else []
    return Plate(tuple(panels), _caption(evaluation, has_bands), tuple(keys))


def _level(evaluation: Evaluation) -> str:
    return f"{evaluation.scores.level:.0%}".replace("%", " %")


def _caption(evaluation: Evaluation, has_bands: bool) -> str:
    states = evaluation.forecast.states
    left_out = f" The first {MOST_STATES} of {len(states)} states." if len(states) > MOST_STATES else ""
    broken = [name for name, scores in _rows(evaluation).items() if np.isinf(scores.mse)]
    endless = f" A line stops where the error is infinite ({', '.join(broken)})." if broken else ""
    bands = " Coverage should follow its dashed line; below it, the bands are too narrow." if has_bands else ""
    return (
        "Root mean square error by the time since the last observation; the model is worth having where its line "
        f"lies below all others.{bands}{endless}{left_out}"
    )


def _rows(evaluation: Evaluation) -> dict[str, Scores]:
    return {evaluation.model.settings.method: evaluation.scores} | evaluation.references


def _errors(evaluation: Evaluation, state: str, keys: list[Key]) -> Markup:
    figure, (ax,) = new_axes(2.9)
    everything = []
    for key, scores in zip(keys, _rows(evaluation).values(), strict=True):
        lead, rmse = _line(scores, state, "rmse")
        width = 2.0 if key is keys[0] else 1.2
        marker = "." if len(lead) <= FEW else None
        ax.plot(lead, rmse, color=key.colour, ls=key.style, lw=width, marker=marker, zorder=3 if width > 1.5 else 2)
        everything.append(rmse)
    log_if_positive(ax, np.concatenate(everything))
    ax.set_xlabel(with_unit("time", evaluation.forecast.units) + " since the last observation")
    ax.set_ylabel(with_unit(state, evaluation.forecast.units) + ", RMSE")
    return svg(figure, f"lead-{state}", f"RMSE of {state} by lead time, of the model and of every reference")


def _coverage(evaluation: Evaluation) -> Markup:
    figure, (ax,) = new_axes(2.9)
    lead, coverage = _line(evaluation.scores, "all", "coverage")
    ax.plot(lead, coverage, color=MODEL, lw=2.0, marker="." if len(lead) <= FEW else None)
    ax.axhline(evaluation.scores.level, color=TRUTH, lw=0.9, ls=(0, (4, 1.5)))
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(with_unit("time", evaluation.forecast.units) + " since the last observation")
    ax.set_ylabel("share of the truth inside")
    return svg(figure, "lead-coverage", "Share of the truth inside the bands, by lead time")


def _line(scores: Scores, state: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    by_lead = scores.by_lead(state)
    shown = thinned(len(by_lead))
    values = by_lead[metric].to_numpy(dtype=float)[shown]
    return by_lead.index.to_numpy(dtype=float)[shown], np.where(np.isfinite(values), values, np.nan)
