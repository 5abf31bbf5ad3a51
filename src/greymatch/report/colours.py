"""Colours that colour-blind readers can tell apart (Okabe and Ito's), each with a dash of its own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import Literal

MODEL, TRUTH, GIVEN, SECOND, MUTED = "#0072B2", "#1a1a1a", "#7a7a7a", "#D55E00", "#9a9a9a"
OUTER, INNER = 0.18, 0.34  # opacity of the 90 % and of the 50 % band


@dataclass(frozen=True)
class Key:
    """One entry of a legend: a line (with its dashes, in line widths), a band or a dot."""

    label: str
    colour: str
    kind: Literal["line", "band", "dot"] = "line"
    dash: tuple[float, ...] = ()
    opacity: float = 1.0

    @property
    def style(self) -> str | tuple[float, tuple[float, ...]]:
        """The dashes as matplotlib wants them."""
        return (0, self.dash) if self.dash else "solid"


# colour and dashes of each reference of `Evaluation`, in the order in which others take what is left
_STYLES: dict[str, tuple[str, tuple[float, ...]]] = {
    "hold": ("#E69F00", (5, 1.5)),
    "zero": ("#009E73", (1.2, 1.2)),
    "per-time mean": ("#CC79A7", (6, 1.5, 1.2, 1.5)),
    "physics only": ("#D55E00", (3, 1.5)),
    "true equations, mean parameters": ("#56B4E9", (8, 2)),
}


def keys_of(model: str, references: list[str]) -> list[Key]:
    """The model first, then each reference; a name that the library knows has one colour on every page."""
    spare = cycle([name for name in _STYLES if name not in references] or _STYLES)
    own = [_styled(name, name if name in _STYLES else next(spare)) for name in references]
    return [Key(f"{model} (the model)", MODEL), *own]


def line_keys(labels: list[str]) -> list[Key]:
    """Lines of equal standing, such as the terms of a loss."""
    first, *rest = labels
    return [Key(first, MODEL), *(_styled(label, name) for label, name in zip(rest, cycle(_STYLES), strict=False))]


def _styled(label: str, name: str) -> Key:
    colour, dash = _STYLES[name]
    return Key(label, colour, dash=dash)
