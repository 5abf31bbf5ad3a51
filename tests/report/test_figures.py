from __future__ import annotations

import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np

from greymatch.report.figures import log_if_positive, new_axes, style, svg, thinned


def drawn(key: str, label: str = "x") -> str:
    with style():
        figure, (ax,) = new_axes(2.0)
        ax.plot([0, 1], [1, 100], marker="o")
        ax.set_ylabel(label)
        return svg(figure, key, 'a "quoted" <alt>')


def test_svg_stands_alone_and_scales() -> None:
    root = ElementTree.fromstring(drawn("a"))
    assert root.get("viewBox")
    assert root.get("width") is None
    assert root.get("aria-label") == root[0].text == 'a "quoted" <alt>'


def test_ids_are_used_and_differ_between_figures() -> None:
    first, second = drawn("a"), drawn("b")
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) == own


def test_user_text_is_neither_mathematics_nor_markup() -> None:
    text = drawn("a", "$x^2$ <b> 日本")
    assert "$x^2$ &lt;b&gt; 日本" in text


def test_the_same_figure_gives_the_same_text() -> None:
    assert drawn("a") == drawn("a")


def test_settings_of_matplotlib_are_left_as_they_were() -> None:
    before = dict(mpl.rcParams)
    drawn("a")
    assert dict(mpl.rcParams) == before


def test_log_axis_needs_something_positive() -> None:
    _, (ax,) = new_axes(2.0)
    log_if_positive(ax, np.array([0.0, np.nan]))
    assert ax.get_yscale() == "linear"
    log_if_positive(ax, np.array([1e-30, 1.0, np.inf]))
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] > 1e-13


def test_thinning_keeps_the_ends() -> None:
    kept = thinned(10_000, 400)
    assert (kept[0], kept[-1], len(kept)) == (0, 9999, 400)
    assert thinned(3).tolist() == [0, 1, 2]
    assert thinned(1).tolist() == [0]
