"""Sphinx settings."""

from __future__ import annotations

import re
import tomllib
from functools import reduce
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from greymatch.methods import METHODS
from greymatch.settings import Settings
from greymatch.settings_tree import known_keys
from greymatch.systems import SYSTEMS

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = _project["name"]
release = version = _project["version"]
author = _project["authors"][0]["name"]
copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_math_renderer = "mathml"  # browsers draw it themselves: no network, no scripts
exclude_patterns = ["_build"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"{project} {release}"
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_copyright = html_show_sphinx = False


# --- tables that come from the code, so that they cannot go stale


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def _settings_row(key: str, meaning: str) -> list[str]:
    *outer, last = key.split(".")
    section = reduce(getattr, outer, Settings())
    kind = type(section).model_fields[last].annotation
    choices = ", ".join(f"`{name}`" for name in get_args(kind)) if get_origin(kind) is Literal else ""
    default = getattr(section, last)
    shown = "" if default is None else f"`{default}`"
    return [f"`{key}`", shown, "; ".join(part for part in (meaning, choices) if part)]


myst_substitutions = {
    "settings_table": _table(
        ["key", "default", "meaning"], [_settings_row(*item) for item in known_keys(Settings).items()]
    ),
    "methods_table": _table(
        ["method", "", "known physics", "latents drawn, KL paid"],
        [
            [f"`{one.name}`", one.title, "yes" if one.uses_physics else "no", "yes" if one.variational else "no"]
            for one in METHODS.values()
        ],
    ),
    "systems_table": _table(
        ["name", "", "states", "parameters to infer", "points given"],
        [
            [
                f"`systems.{one.name}`",
                one.title,
                ", ".join(one.physics.states),
                ", ".join(one.physics.free),
                str(one.given),
            ]
            for one in SYSTEMS.values()
        ],
    ),
    "protocol_table": _table(
        ["system", "points given", "points scored", "trajectories to train on", "to validate on", "to be judged by"],
        [
            [
                f"`{one.name}`",
                f"0–{one.given - 1}",
                f"{one.given}–{len(one.splits['test'].times) - 1}",
                *(f"{one.splits[split].trajectories}" for split in ("train", "val", "test")),
            ]
            for one in SYSTEMS.values()
        ],
    ),
}


# --- results: what the benchmarks wrote is shown where a page says <!-- results: NAME -->

_RESULTS = Path(__file__).parents[1] / "results"
_SHOWN = re.compile(r"^<!-- results: ([\w/-]+) -->$", re.MULTILINE)
_EXPONENT = re.compile(r"(?<=\de)-(?=\d)")  # where a number must not break


def _with_results(app: Any, page: str, source: list[str]) -> None:
    def shown(place: re.Match[str]) -> str:
        path = _RESULTS / f"{place[1]}.md"
        app.env.note_dependency(str(path))
        if not path.exists():
            return f":::{{note}}\nNot in this tree yet: {place[1]}. Its command is named above.\n:::"
        up = "../" * (1 + page.count("/"))
        text = _EXPONENT.sub("\N{NON-BREAKING HYPHEN}", path.read_text(encoding="utf-8"))
        return text.replace("](", f"]({up}{path.parent.relative_to(_RESULTS.parent)}/")

    source[0] = _SHOWN.sub(shown, source[0])


# --- docstrings are Markdown; autodoc reads reStructuredText

_FENCE, _CODE, _SPECIAL = re.compile(r"```(\w*)$"), re.compile(r"(`[^`]+`)"), re.compile(r"([*|\\]|_(?=\W|$))")


def _text(line: str) -> str:
    """A line of prose: code between single backticks, and no other markup."""
    parts = [
        f"``{part[1:-1]}``" if _CODE.fullmatch(part) else _SPECIAL.sub(r"\\\1", part) for part in _CODE.split(line)
    ]
    return re.sub(r"(``)(?=\w)(?<=\w``)", r"\1\\ ", "".join(parts))


def _restructured(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    out: list[str] = []
    fenced = False
    for line in lines:
        fence = _FENCE.match(line.strip())
        if fence:
            fenced = not fenced
            out += ["", f".. code-block:: {fence[1]}", ""] if fenced else [""]
        else:
            out.append(f"    {line}" if fenced else _text(line))
    lines[:] = out


# --- mathematics


def _inline_math(writer: Any, node: Any) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block_math(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", _restructured)
    app.connect("source-read", _with_results)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
