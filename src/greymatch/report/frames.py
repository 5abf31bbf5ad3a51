"""Fields on a grid: frames of truth, forecast mean and error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from greymatch.evaluation import Evaluation
from greymatch.forecast import ensemble
from greymatch.forecast.align import align
from greymatch.report.chosen import Chosen
from greymatch.report.figures import WIDTH, Panel, Plate, svg, thinned, with_unit
from greymatch.report.numbers import number

MOST_STATES = 2
FRAMES = 4
Aspect = Literal["equal", "auto"]
_ROWS = ("truth", "mean", "error")
_DPI = 110  # of the pictures inside the figure


@dataclass(frozen=True)
class Film:
    """One state of one trajectory: truth and mean (T, *grid), NaN where not known, at lead times (T,)."""

    truth: np.ndarray
    mean: np.ndarray
    lead: np.ndarray


def frames(evaluation: Evaluation, chosen: list[Chosen]) -> Plate:
    states = evaluation.forecast.states[:MOST_STATES]
    panels = tuple(
        Panel(_film(evaluation, one, index), f"{one.heading}: {name}", one.remark)
        for one in chosen
        for index, name in enumerate(states)
    )
    return Plate(panels, _caption(evaluation, chosen))


def _caption(evaluation: Evaluation, chosen: list[Chosen]) -> str:
    axes, states = evaluation.forecast.grid, evaluation.forecast.states
    layout = f"Time runs to the right, {axes[0]} upwards." if len(axes) == 1 else "Time runs to the right."
    cut = f" Of {len(axes)} grid axes the last two are drawn, in the middle of the others." if len(axes) > 2 else ""
    left_out = f" The first {MOST_STATES} of {len(states)} states are drawn." if len(states) > MOST_STATES else ""
    return (
        f"{len(chosen)} of {chosen[0].ranked} trajectories, from the smallest error to the largest. {layout} Truth and "
        f"mean share one colour scale; the error, mean minus truth, has its own, white at zero.{cut}{left_out}"
    )


def _film(evaluation: Evaluation, one: Chosen, state: int) -> Markup:
    film = _frames_of(evaluation, one.row, state)
    figure = _space_time(film) if film.truth.ndim == 2 else _pictures(film)
    name = evaluation.forecast.states[state]
    figure.supxlabel(with_unit("time", evaluation.forecast.units) + " since the last observation", fontsize=8.5)
    alt = f"{name} of trajectory {one.label} ({one.remark}): truth, forecast mean and error over time"
    return svg(figure, f"film-{one.row}-{state}", alt)


def _frames_of(evaluation: Evaluation, row: int, state: int) -> Film:
    forecast = evaluation.forecast
    asked = forecast.times[row].isfinite()
    judged = align(forecast, evaluation.test)
    truth = judged.values[row, :, state].double().masked_fill(~judged.scored[row, :, state], np.nan)[asked]
    mean = ensemble.mean(forecast.draws[:, row, :, state].double())[asked]
    middle = tuple(size // 2 for size in truth.shape[1:-2])
    at = (slice(None), *middle)
    return Film(truth.cpu().numpy()[at], mean.cpu().numpy()[at], forecast.lead[row, asked].cpu().numpy())


def _pictures(film: Film) -> Figure:
    """Three rows of frames at even steps of time."""
    shown = thinned(len(film.lead), FRAMES)
    aspect = "equal" if _square(film.truth[0]) else "auto"
    figure = Figure(figsize=(WIDTH, _height(film.truth[0], len(shown))), layout="constrained", dpi=_DPI)
    axes = figure.subplots(3, len(shown), squeeze=False)
    for row, (values, limits) in enumerate(_scaled(film, shown)):
        for column, ax in enumerate(axes[row]):
            _picture(ax, values[column], limits, row == 2, aspect)
        figure.colorbar(axes[row, 0].images[0], ax=list(axes[row]), pad=0.02)
        axes[row, 0].set_ylabel(_ROWS[row])
    for ax, frame in zip(axes[0], shown, strict=True):
        ax.set_title(f"+{number(float(film.lead[frame]))}")
    return figure


def _space_time(film: Film) -> Figure:
    """Three pictures with time across and the grid upwards."""
    shown = np.arange(len(film.lead))
    figure = Figure(figsize=(WIDTH, 3.5), layout="constrained", dpi=_DPI)
    axes = figure.subplots(3, 1)
    for row, (values, limits) in enumerate(_scaled(film, shown)):
        _picture(axes[row], values.T, limits, row == 2, "auto")
        figure.colorbar(axes[row].images[0], ax=axes[row], pad=0.02)
        axes[row].set_ylabel(_ROWS[row])
    ends = [number(float(film.lead[0])), number(float(film.lead[-1]))]
    axes[-1].set_xticks([0, len(shown) - 1] if len(shown) > 1 else [0], ends[: len(shown)])
    return figure


def _scaled(film: Film, shown: np.ndarray) -> list[tuple[np.ndarray, tuple[float, float]]]:
    """Truth, mean and error at some frames, each with the ends of its colour scale."""
    truth, mean = film.truth[shown], film.mean[shown]
    known = truth if np.isfinite(truth).any() else mean
    both = _ends(known)
    error = mean - truth
    worst = float(np.abs(error[np.isfinite(error)]).max(initial=0.0)) or 1e-12
    return [(truth, both), (mean, both), (error, (-worst, worst))]


def _ends(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _picture(ax: Axes, values: np.ndarray, limits: tuple[float, float], is_error: bool, aspect: Aspect) -> None:
    ax.imshow(
        np.ma.masked_invalid(values),
        origin="lower",
        aspect=aspect,
        interpolation="nearest",
        cmap="RdBu_r" if is_error else "viridis",
        vmin=limits[0],
        vmax=limits[1],
    )
    ax.set_facecolor("#d0d0d0")
    ax.grid(visible=False)
    ax.set_xticks([])
    ax.set_yticks([])


def _height(picture: np.ndarray, columns: int) -> float:
    """Of a figure in which the frames fill their rows."""
    width = min(0.8 * WIDTH / columns, 1.2)
    frame = width * picture.shape[0] / picture.shape[1] if _square(picture) else width
    return 0.7 + 3 * (max(frame, 0.4) + 0.08)


def _square(values: np.ndarray) -> bool:
    return max(values.shape) <= 3 * min(values.shape)
