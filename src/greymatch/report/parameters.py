"""Inferred parameters against the truth or, where that is not known, against the prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from greymatch.evaluation import LEVEL, Evaluation
from greymatch.report.colours import MODEL, MUTED, TRUTH, Key
from greymatch.report.figures import Panel, Plate, new_axes, svg, thinned, with_unit
from greymatch.report.numbers import number, percent

MOST_PARAMETERS = 12
MOST_TRAJECTORIES = 250
_MEAN = Key("posterior mean, 90 % interval", MODEL, "dot")
_EXACT = Key("truth", TRUTH, dash=(4, 1.5))
_PRIOR = Key("central 90 % of the prior", MUTED, "band", opacity=0.22)


@dataclass(frozen=True)
class Estimates:
    """One parameter: mean, ends of the interval, truth (NaN when unknown), each (N,), and the prior's ends."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    truth: np.ndarray
    prior: tuple[float, float]

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.truth).any())


def parameters(evaluation: Evaluation) -> Plate | None:
    """Nothing where the model infers no parameters."""
    if evaluation.posterior is None or not evaluation.model.physics.free:
        return None
    mean, interval = evaluation.posterior.mean(), evaluation.posterior.interval(LEVEL)
    judged = evaluation.parameters()
    panels, seen_truth = [], False
    for name in evaluation.model.physics.free[:MOST_PARAMETERS]:
        estimates = _estimates(evaluation, name, mean, interval)
        panels.append(Panel(_drawn(evaluation, name, estimates), name, _remark(judged.get(name))))
        seen_truth = seen_truth or estimates.known
    legend = (_MEAN, *([_EXACT] if seen_truth else []), _PRIOR)
    return Plate(tuple(panels), _caption(evaluation, seen_truth), legend)


def _estimates(evaluation: Evaluation, name: str, mean: xr.Dataset, interval: xr.Dataset) -> Estimates:
    prior = evaluation.model.physics.params[name]
    centre = mean[name].values.astype(float)
    bounds = interval[name].transpose("trajectory", "bound").values.astype(float)
    truth = np.asarray(evaluation.test.truth.get(name, np.full(len(centre), np.nan)), dtype=float)
    ends = prior.quantile((1 - LEVEL) / 2), prior.quantile((1 + LEVEL) / 2)
    return Estimates(centre, bounds[:, 0], bounds[:, 1], truth, ends)


def _remark(judged: dict[str, float] | None) -> str:
    if judged is None:
        return "truth not known"
    return (
        f"RMSE {number(judged['rmse'])} (mean of the prior: {number(judged['prior_rmse'])}), "
        f"{percent(judged['coverage'])} of the intervals hold the truth"
    )


def _drawn(evaluation: Evaluation, name: str, estimates: Estimates) -> Markup:
    figure, (ax,) = new_axes(3.2)
    order = np.argsort(estimates.truth if estimates.known else estimates.mean, kind="stable")
    places = thinned(len(order), MOST_TRAJECTORIES)
    rows = order[places]
    across = estimates.truth[rows] if estimates.known else places + 1.0
    ax.axhspan(*estimates.prior, color=_PRIOR.colour, alpha=_PRIOR.opacity, lw=0)
    ax.vlines(across, estimates.low[rows], estimates.high[rows], color=MODEL, lw=1.0, alpha=0.55)
    ax.plot(across, estimates.mean[rows], color=MODEL, lw=0, marker="o", ms=2.8, mew=0)
    labelled = with_unit(name, evaluation.test.units)
    ax.set_ylabel(f"{labelled}, inferred")
    if estimates.known:
        _identity(ax, across)
        ax.set_xlabel(f"{labelled}, true")
    else:
        ax.set_xlabel("trajectories, by posterior mean")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    against = "truth" if estimates.known else "prior"
    return svg(figure, f"parameter-{name}", f"Posterior of {name} for each trajectory against the {against}")


def _identity(ax: Axes, truth: np.ndarray) -> None:
    low, high = float(np.nanmin(truth)), float(np.nanmax(truth))
    margin = 0.04 * (high - low) or max(0.05 * abs(high), 1e-12)
    ends = (low - margin, high + margin)
    ax.plot(ends, ends, color=_EXACT.colour, lw=0.9, ls=_EXACT.style, zorder=1)
    ax.set_xlim(*ends)


def _caption(evaluation: Evaluation, known: bool) -> str:
    free, count = evaluation.model.physics.free, len(evaluation.test)
    how = (
        "Good: the points lie on the dashed line, and the bars are just long enough to reach it nine times in ten."
        if known
        else "No truth to compare with: what can be seen is how far the data narrowed the prior."
    )
    some = f" {MOST_TRAJECTORIES} of {count} trajectories are drawn." if count > MOST_TRAJECTORIES else ""
    left_out = f" The first {MOST_PARAMETERS} of {len(free)} parameters." if len(free) > MOST_PARAMETERS else ""
    return (
        f"One point for each trajectory. {how} A bar as long as the shaded band means nothing was learned."
        f"{some}{left_out}"
    )
