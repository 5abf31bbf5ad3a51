"""How much of the velocity the known physics gives, and how much the learned residual."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from greymatch.evaluation import Evaluation
from greymatch.methods import method_named
from greymatch.models import share as shares
from greymatch.report.colours import MODEL, SECOND, Key
from greymatch.report.figures import Panel, Plate, new_axes, svg
from greymatch.report.numbers import listed, number, percent

_PHYSICS, _RESIDUAL = Key("known physics", MODEL, "band"), Key("learned residual", SECOND, "band")


def share(evaluation: Evaluation) -> Plate | None:
    """Nothing where no equation has a share."""
    known = {name: part for name, part in evaluation.share.items() if math.isfinite(part["share"])}
    if not known:
        return None
    figure, (ax,) = new_axes(0.7 + 0.36 * len(known))
    places = list(range(len(known)))
    shares = np.array([100 * part["share"] for part in known.values()])
    ax.barh(places, shares, color=_PHYSICS.colour, height=0.62)
    ax.barh(places, 100 - shares, left=shares, color=_RESIDUAL.colour, height=0.62)
    for place, part in zip(places, known.values(), strict=True):
        _write(ax, place, part)
    ax.axvline(50, color="white", lw=1.2, ls=(0, (2, 2)))
    ax.set(yticks=places, yticklabels=list(known), xlim=(0, 100), xlabel="share (%)")
    ax.invert_yaxis()
    ax.grid(visible=False)
    drawn = svg(figure, "share", f"Share of the known physics: {_spoken(known)}")
    return Plate((Panel(drawn),), _caption(evaluation, known), (_PHYSICS, _RESIDUAL))


def _write(ax: Axes, place: float, part: dict[str, float]) -> None:
    style = {"va": "center", "color": "white", "fontsize": 8.5}
    if part["share"] > 0.3:
        ax.text(1, place, f"physics {number(part['physics'])}", ha="left", **style)
    if part["share"] < 0.7:
        ax.text(99, place, f"residual {number(part['residual'])}", ha="right", **style)


def _spoken(known: dict[str, dict[str, float]]) -> str:
    return ", ".join(
        f"{name} {percent(part['share'])} ({number(part['physics'])} and {number(part['residual'])})"
        for name, part in known.items()
    )


def _caption(evaluation: Evaluation, known: dict[str, dict[str, float]]) -> str:
    what = "acceleration" if evaluation.model.physics.order == 2 else "velocity"
    return (
        f"Root mean square of the two parts of the {what} of each state along the test trajectories, and the physics' "
        f"share of their sum: {_spoken(known)}."
    )


def taken_over(evaluation: Evaluation) -> list[str]:
    """The states in whose equations the residual does more than the physics that it was given."""
    return shares.taken_over(evaluation.share, evaluation.model.settings.method)


def share_warning(evaluation: Evaluation) -> str:
    """In plain words, when the residual takes over; empty when it does not."""
    if not _uses_physics(evaluation):
        return "This method uses no physics: the learned field does all the work, and no parameter is inferred."
    taken = taken_over(evaluation)
    if not taken:
        return ""
    return (
        f"The residual does more than the physics in the equation of {listed(taken)}. The inferred parameters may then "
        "mean little: the known part is small there, wrong, or has been replaced by what was learned. Compare with "
        "“physics only” in the table, let the residual pay more for its size, or name the equations that are complete."
    )


def _uses_physics(evaluation: Evaluation) -> bool:
    return method_named(evaluation.model.settings.method).uses_physics
