"""The look of the benchmarks' pictures: one panel a system, one colour and one marker a method, everywhere."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 130
PANEL = (3.6, 2.9)  # inches
PER_LINE = 3


class Style(NamedTuple):
    """Colours that colour-blind readers can tell apart (Okabe and Ito's); the marker tells the same again."""

    colour: str
    marker: str


STYLES = {
    "vgb-dm": Style("#0072B2", "o"),
    "gb-dm": Style("#56B4E9", "v"),
    "vbb-dm": Style("#E69F00", "s"),
    "tfm": Style("#009E73", "^"),
    "physvae": Style("#D55E00", "D"),
    "bb-node": Style("#CC79A7", "P"),
}
OTHER = Style("#1a1a1a", "X")
MUTED = "#8a8a8a"


def style_of(method: str) -> Style:
    return STYLES.get(method, OTHER)


def panels(
    titles: Sequence[str], panel: tuple[float, float] = PANEL, columns: int = PER_LINE
) -> tuple[Figure, list[Axes]]:
    """A figure without pyplot, with titled axes, so many on a line."""
    from matplotlib.figure import Figure

    across = min(columns, max(1, len(titles)))
    down = -(-len(titles) // across)
    figure = Figure(figsize=(panel[0] * across, panel[1] * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for axes in grid[len(titles) :]:
        axes.set_visible(False)
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(title)
    return figure, list(grid[: len(titles)])


def log_axes(axes: Axes, which: str = "xy") -> None:
    """Logarithmic, with plain numbers at the decades, and between them where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from greymatch.report.numbers import number

    for name in which:
        axis = {"x": axes.xaxis, "y": axes.yaxis}[name]
        axes.set(**{f"{name}scale": "log"})
        low, high = axis.get_view_interval()
        subs = (1.0, 2.0, 5.0) if 0 < high < 60 * low else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=8))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axis.set_minor_formatter(NullFormatter())


def legend(figure: Figure, entries: Sequence[tuple[Any, str]], columns: int = 6) -> None:
    """Below the panels, so that it never hides data."""
    if entries:
        handles, labels = zip(*entries, strict=True)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def method_line(method: str, **more: Any) -> tuple[Any, str]:
    """A legend's entry of a method."""
    from matplotlib.lines import Line2D

    style = style_of(method)
    look = {"color": style.colour, "marker": style.marker, "ms": 5} | more
    return Line2D([], [], **look), method


def save(draw: Callable[[], Figure], path: Path) -> None:
    """The picture as PNG, in the style of the reports."""
    from greymatch.files import write_bytes
    from greymatch.report.figures import style

    buffer = io.BytesIO()
    with style():
        draw().savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    write_bytes(path, buffer.getvalue())
