"""From matplotlib figures to inline SVG: small panels that a page can lay out side by side or one below the other."""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from greymatch.report.colours import Key
from greymatch.report.numbers import number

WIDTH = 4.0  # inches; a panel is shown 300 to 450 pixels wide, so that the text stays readable
MOST_POINTS = 400  # of a line: more cannot be seen

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, searchable, and in any script
    "text.parse_math": False,  # names and units are the user's: a dollar is a dollar
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "axes.edgecolor": "#8a8a8a",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "axes.formatter.limits": (-3, 4),
    "xtick.color": "#5a5a5a",
    "ytick.color": "#5a5a5a",
    "lines.linewidth": 1.4,
    "figure.facecolor": "white",
    "figure.dpi": 72,
}
_NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
_drawing = threading.Lock()


@dataclass(frozen=True)
class Panel:
    """One drawing, with a heading and a remark above it."""

    svg: Markup
    heading: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Plate:
    """Panels that are read together, what their colours mean, and what to see in them."""

    panels: tuple[Panel, ...]
    caption: str
    legend: tuple[Key, ...] = ()


@contextmanager
def style() -> Iterator[None]:
    """The look of the page; one thread at a time, since matplotlib keeps its settings for the whole process."""
    with _drawing, mpl.rc_context(_STYLE), warnings.catch_warnings():
        # the browser has the glyphs that matplotlib's own font lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_axes(
    height: float, heights: Sequence[float] = (1,), width: float = WIDTH, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure without pyplot, so without windows or global state, and axes of these relative heights, top first."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights, **options)
    return figure, list(axes[:, 0])


def svg(figure: Figure, key: str, alt: str) -> Markup:
    """The figure as an <svg> element that scales; `key` keeps its ids apart from those of the page's other figures."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    text = buffer.getvalue().decode()
    text = re.sub(r"<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    # the page has this rule itself: in a figure it would reach the whole page
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r' d="([^"]*)"', lambda path: f' d="{_rounded(path[1])}"', text)
    head, body = _own_ids(text, key).split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    label = escape(alt)
    return Markup(f'{head} role="img" aria-label="{label}"><title>{label}</title>{body}'.strip())


def _rounded(path: str) -> str:
    """Hundredths of a point are enough."""
    return " ".join(re.sub(r"(\.\d\d)\d+", r"\1", path).split())


def _own_ids(text: str, key: str) -> str:
    """Ids that are referred to, numbered under `key`; the others are dropped."""
    used = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    names = {old: f"{key}-{index}" for index, old in enumerate(used)}
    text = re.sub(r'(<[A-Za-z][^<>]*?) id="([^"]*)"', lambda tag: tag[1] + _id(names.get(tag[2])), text)
    return re.sub(r'(href="#|url\(#)([^")]+)', lambda link: link[1] + names[link[2]], text)


def _id(name: str | None) -> str:
    return "" if name is None else f' id="{name}"'


def with_unit(name: str, units: Mapping[str, str]) -> str:
    return f"{name} ({units[name]})" if units.get(name) else name


def thinned(count: int, most: int = MOST_POINTS) -> np.ndarray:
    """Positions among `count`, evenly spread, the first and the last included, at most `most` of them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def log_if_positive(axes: Axes, values: np.ndarray) -> None:
    """A logarithmic y axis where there is something to show on one."""
    finite = values[np.isfinite(values)]
    if not finite.size or finite.max() <= 0:
        return
    axes.set_yscale("log")
    low, high = finite[finite > 0].min(), finite.max()
    # never less than a factor of ten, so that small wiggles do not look large, nor more than twelve decades
    low = max(min(low, high / 10), high * 1e-12)
    axes.set_ylim(low / 1.5, high * 1.5)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 60 * low else (1,), numticks=8))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
