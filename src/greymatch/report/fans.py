"""Forecast fans against the truth."""

from __future__ import annotations

import numpy as np
import torch
from markupsafe import Markup
from matplotlib.axes import Axes
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.evaluation import Evaluation
from greymatch.forecast import ensemble
from greymatch.forecast.align import Judged, align
from greymatch.report.chosen import Chosen
from greymatch.report.colours import GIVEN, INNER, MODEL, MUTED, OUTER, TRUTH, Key
from greymatch.report.figures import Panel, Plate, new_axes, svg, thinned, with_unit

MOST_STATES = 3
FEW = 60  # observations up to which each one is marked
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_GIVEN = Key("given", GIVEN, "dot")
_TRUTH = Key("truth", TRUTH, dash=(4, 1.5))
_START = Key("forecast starts", MUTED, dash=(1.2, 1.5))
_MEDIAN = Key("median", MODEL)
_BANDS = (Key("50 % band", MODEL, "band", opacity=INNER + OUTER), Key("90 % band", MODEL, "band", opacity=OUTER))


def fans(evaluation: Evaluation, chosen: list[Chosen]) -> Plate:
    truth = align(evaluation.forecast, evaluation.test)
    panels = tuple(Panel(_fan(evaluation, one, truth), one.heading, one.remark) for one in chosen)
    several = len(evaluation.forecast.draws) > 1
    legend = (_GIVEN, _START, _TRUTH, _MEDIAN, *(_BANDS if several else ()))
    return Plate(panels, _caption(evaluation, chosen), legend)


def _caption(evaluation: Evaluation, chosen: list[Chosen]) -> str:
    states = evaluation.forecast.states
    strip = " The lower strip shows the same minus the truth, on a scale of its own." if len(states) == 1 else ""
    left_out = f" The first {MOST_STATES} of {len(states)} states are drawn." if len(states) > MOST_STATES else ""
    return (
        f"{_which(chosen)} Good: the truth stays inside the bands, and leaves the inner one about half of the time."
        f"{strip}{left_out} An axis ends where the forecast leaves the range of the "
        "observations by far."
    )


def _which(chosen: list[Chosen]) -> str:
    if len(chosen) == 1:
        return "The only trajectory."
    some = f"{len(chosen)} of {chosen[0].ranked} trajectories, at even steps"
    which = some if len(chosen) < chosen[0].ranked else "Every trajectory"
    return f"{which} from the smallest error to the largest: the last panel shows how bad it gets."


def _fan(evaluation: Evaluation, one: Chosen, truth: Judged) -> Markup:
    states = evaluation.forecast.states[:MOST_STATES]
    alone = len(states) == 1
    heights = (1.7, 0.8) if alone else (1.3,) * len(states)
    figure, axes = new_axes(0.5 + sum(heights), heights, sharex=True)
    for index, name in enumerate(states):
        _draw(axes[index], evaluation, one.row, index)
        axes[index].set_ylabel(with_unit(name, evaluation.forecast.units))
    if alone:
        _draw_error(axes[1], evaluation, one.row, truth)
    axes[-1].set_xlabel(with_unit("time", evaluation.forecast.units))
    alt = f"Forecast of {', '.join(states)} of trajectory {one.label} ({one.remark}) beside the truth"
    return svg(figure, f"fan-{one.row}", alt)


def _draw(ax: Axes, evaluation: Evaluation, row: int, state: int) -> None:
    forecast, start = evaluation.forecast, float(evaluation.forecast.start[row])
    asked = forecast.times[row].isfinite()
    times = forecast.times[row, asked].cpu().numpy()
    quantiles = _quantiles(forecast.draws[:, row, :, state][:, asked])
    shown = thinned(len(times))
    _draw_bands(ax, times[shown], quantiles[:, shown], len(forecast.draws) > 1)
    given = _observed(evaluation.history, row, state)
    past = given[:, thinned(given.shape[1])]
    ax.plot(*past, color=_GIVEN.colour, lw=0, marker=".", ms=3.5, mew=0)
    truth = _observed(evaluation.test, row, state)
    future = truth[:, truth[0] > start]
    _draw_truth(ax, future[:, thinned(future.shape[1])] if future.size else future)
    ax.axvline(start, color=_START.colour, lw=0.9, ls=_START.style)
    _set_range(ax, np.concatenate([given[1], future[1]]), quantiles)


def _draw_error(ax: Axes, evaluation: Evaluation, row: int, truth: Judged) -> None:
    """The same bands minus the truth: what is too small to be seen above."""
    forecast, scored = evaluation.forecast, truth.scored[row, :, 0]
    if bool(scored.any()):
        true = truth.values[row, scored, 0].double().cpu().numpy()
        errors = _quantiles(forecast.draws[:, row, :, 0][:, scored]) - true
        shown = thinned(len(true))
        times = forecast.times[row, scored].cpu().numpy()[shown]
        _draw_bands(ax, times, errors[:, shown], len(forecast.draws) > 1)
    ax.axhline(0, color=TRUTH, lw=1.0, ls=_TRUTH.style)
    ax.axvline(float(forecast.start[row]), color=_START.colour, lw=0.9, ls=_START.style)
    ax.set_ylabel("minus truth")


def _draw_bands(ax: Axes, times: np.ndarray, quantiles: np.ndarray, several: bool) -> None:
    if several:
        ax.fill_between(times, quantiles[0], quantiles[4], color=MODEL, alpha=OUTER, lw=0)
        ax.fill_between(times, quantiles[1], quantiles[3], color=MODEL, alpha=INNER, lw=0)
    ax.plot(times, quantiles[2], color=MODEL, marker="." if len(times) == 1 else None)


def _draw_truth(ax: Axes, truth: np.ndarray) -> None:
    marked = truth.shape[1] <= FEW or bool(np.isnan(truth[1]).any())
    marker = "." if marked else None
    ax.plot(*truth, color=TRUTH, lw=1.0, ls=_TRUTH.style, marker=marker, ms=2.5, mew=0)


def _quantiles(draws: Tensor) -> np.ndarray:
    """(5, T): the median in the middle of the bands' bounds."""
    return ensemble.quantile(draws.double(), torch.tensor(_LEVELS, dtype=torch.float64)).cpu().numpy()


def _observed(data: Trajectories, row: int, state: int) -> np.ndarray:
    """Times and values (2, T) of one state, NaN in its gaps."""
    kept = data.times[row].isfinite()
    values = data.values[row, :, state].double().masked_fill(~data.mask[row, :, state], torch.nan)
    return torch.stack([data.times[row].double(), values])[:, kept].cpu().numpy()


def _set_range(ax: Axes, observed: np.ndarray, quantiles: np.ndarray) -> None:
    """What was observed and the bands, but never more than twice the observed range to either side."""
    if not np.isfinite(observed).any():
        return
    low, high = float(np.nanmin(observed)), float(np.nanmax(observed))
    reach = 2 * (high - low) or max(abs(high), 1e-12)
    bands = quantiles[np.isfinite(quantiles)]
    bottom = max(low - reach, min(low, float(bands.min(initial=low))))
    top = min(high + reach, max(high, float(bands.max(initial=high))))
    margin = 0.05 * (top - bottom) or reach / 2
    ax.set_ylim(bottom - margin, top + margin)
