"""Pictures of calibration: reliability curves, histograms of ranks, spread against error."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from greymatch.diagnostics.reliability import Reliability
from greymatch.diagnostics.verdict import SURE
from greymatch.report.colours import MODEL, MUTED, SECOND, TRUTH, Key, line_keys
from greymatch.report.figures import Panel, Plate, new_axes, svg, with_unit
from greymatch.report.numbers import number, percent, probability

HEIGHT = 2.9
MOST_BINS, FEW = 20, 150.0  # bins, and values below which half as many are drawn
LEVELS = (0.5, 0.8, 0.9, 0.95)
_SEEN = Key("observed", MODEL)
_IDEAL = Key("right", TRUTH, dash=(4, 1.5))
_CHANCE = Key("what chance allows", MUTED, "band", opacity=0.22)
_SHARES = Key("share of the truths", MODEL, "band", opacity=0.55)
_SPREAD, _ERROR = Key("spread", TRUTH), Key("error", SECOND, dash=(3, 1.5))


def curves(rows: Mapping[str, Reliability]) -> Plate:
    """Nominal against observed coverage."""
    caption = (
        "How much of the truth lies within central intervals, against how much should. Below the dashed line the error "
        "bars are too narrow, above it too wide; within the shaded band chance alone can do it."
    )
    return Plate(_panels(rows, _curve, _held), caption, (_SEEN, _IDEAL, _CHANCE))


def _panels(
    rows: Mapping[str, Reliability], drawn: Callable[[str, Reliability], Markup], remark: Callable[[Reliability], str]
) -> tuple[Panel, ...]:
    return tuple(Panel(drawn(name, one), name, remark(one)) for name, one in rows.items())


def _key(kind: str, name: str) -> str:
    return f"{kind}-{name}".replace(" ", "-")


def _held(found: Reliability) -> str:
    share = found.at(0.9)
    return f"90 % intervals hold {percent(share)}" if np.isfinite(share) else f"{found.draws} draws"


def _curve(name: str, found: Reliability) -> Markup:
    figure, (ax,) = new_axes(HEIGHT)
    level = np.array([0.0, *found.levels, 1.0])
    slack = SURE * np.array([found.scatter(one) for one in level])
    ax.fill_between(level, level - slack, level + slack, color=_CHANCE.colour, alpha=_CHANCE.opacity, lw=0)
    ax.plot([0, 1], [0, 1], color=_IDEAL.colour, lw=0.9, ls=_IDEAL.style)
    ax.plot(found.levels, found.coverage, color=MODEL, lw=1.8, marker=".", ms=4)
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="level of the interval", ylabel="share of the truth inside")
    return svg(figure, _key("reliability", name), f"Coverage of the intervals of {name} against their level")


def histograms(rows: Mapping[str, Reliability]) -> Plate:
    """Ranks of the truth among the draws, as shares of them: the PIT."""
    caption = (
        "Where the truth stands among its draws, from below all of them (0) to above all (1): the rank of "
        "simulation-based calibration for parameters, the PIT for forecasts. Right is level. High ends: "
        "over-confident; a hill: over-cautious; a slope: a pull to one side. Of 100 honest "
        "histograms 95 stay within the shaded band with every bin."
    )
    return Plate(_panels(rows, _histogram, _evenness), caption, (_SHARES, _IDEAL, _CHANCE))


def _evenness(found: Reliability) -> str:
    return f"as uneven by chance: {probability(found.uniformity)}"


def _histogram(name: str, found: Reliability) -> Markup:
    figure, (ax,) = new_axes(HEIGHT)
    bins = MOST_BINS if found.independent >= FEW else MOST_BINS // 2
    edges = np.linspace(0, 1, bins + 1)
    ax.bar(edges[:-1], found.histogram(bins), 1 / bins, align="edge", color=MODEL, alpha=_SHARES.opacity, lw=0)
    ax.axhspan(*found.band(bins), color=_CHANCE.colour, alpha=_CHANCE.opacity, lw=0, zorder=0)
    ax.axhline(1 / bins, color=_IDEAL.colour, lw=0.9, ls=_IDEAL.style)
    ax.set(xlim=(0, 1), xlabel="rank of the truth / draws", ylabel="share of the truths")
    return svg(figure, _key("ranks", name), f"Histogram of the rank of the true {name} among its draws")


def spreads(rows: Mapping[str, Reliability]) -> Plate:
    """Error against spread, in groups of rising spread."""
    caption = (
        "Values sorted by the spread of their draws into groups of equal size: root mean square error of each group "
        "against its spread. On the dashed line the spread is right; above it too small. A level row of points means "
        "that the spread does not know where the errors are."
    )
    return Plate(_panels(rows, _spread, _ratio), caption, (Key("one group", MODEL, "dot"), _IDEAL))


def _ratio(found: Reliability) -> str:
    return f"spread over error {number(found.spread_skill.ratio)}"


def _spread(name: str, found: Reliability) -> Markup:
    figure, (ax,) = new_axes(HEIGHT)
    spread, skill = found.spread_skill.spread, found.spread_skill.skill
    kept = np.isfinite(skill) & (spread > 0) & (skill > 0)
    ax.plot(spread[kept], skill[kept], color=MODEL, lw=0.8, marker="o", ms=4.5)
    if kept.any():
        _log_square(ax, np.concatenate([spread[kept], skill[kept]]))
    ax.set(xlabel="spread of the draws", ylabel="error of their mean")
    return svg(figure, _key("spread", name), f"Error of {name} against the spread of its draws")


def _log_square(ax: Axes, values: np.ndarray) -> None:
    """The same logarithmic range on both axes, and the line on which they are equal."""
    low, high = float(values.min()) / 1.4, float(values.max()) * 1.4
    ax.plot([low, high], [low, high], color=_IDEAL.colour, lw=0.9, ls=_IDEAL.style)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 60 * low else (1,), numticks=8))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axis.set_minor_formatter(NullFormatter())


def by_lead(leads: Mapping[float, Reliability], units: Mapping[str, str]) -> Plate:
    """Coverage at several levels, and spread beside error, of the forecasts of all states."""
    keys = line_keys([percent(level) for level in LEVELS])
    time = with_unit("time", dict(units)) + " since the last observation"
    panels = (
        Panel(_coverages(leads, keys, time), "Coverage by lead time", "forecasts, all states"),
        Panel(_growth(leads, time), "Spread and error by lead time", "in standard deviations of the truth"),
    )
    caption = (
        "Forecasts in groups of rising lead time. Each line of coverage should follow the thin one of its level; "
        "spread and error should go together."
    )
    return Plate(panels, caption, (*keys, _SPREAD, _ERROR))


def _coverages(leads: Mapping[float, Reliability], keys: list[Key], time: str) -> Markup:
    figure, (ax,) = new_axes(HEIGHT)
    for key, level in zip(keys, LEVELS, strict=True):
        shares = [found.at(level) for found in leads.values()]
        ax.plot(list(leads), shares, color=key.colour, ls=key.style, lw=1.6, marker=".")
        ax.axhline(level, color=key.colour, lw=0.6, alpha=0.6)
    ax.set(ylim=(0, 1.02), xlabel=time, ylabel="share of the truth inside")
    return svg(figure, "trust-lead-coverage", "Coverage of intervals of several levels by lead time")


def _growth(leads: Mapping[float, Reliability], time: str) -> Markup:
    figure, (ax,) = new_axes(HEIGHT)
    spread = [found.spread_skill.total_spread for found in leads.values()]
    error = [found.spread_skill.total_skill for found in leads.values()]
    for key, values in ((_SPREAD, spread), (_ERROR, error)):
        shown = np.where(np.isfinite(values), values, np.nan)
        ax.plot(list(leads), shown, color=key.colour, ls=key.style, lw=1.6, marker=".")
    ax.set(xlabel=time, ylabel="root mean square")
    ax.set_ylim(bottom=0)
    return svg(figure, "trust-lead-spread", "Spread of the draws and error of their mean by lead time")
