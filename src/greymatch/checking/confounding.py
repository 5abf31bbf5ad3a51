"""Parameters that a missing term could pass for.

A parameter whose effect on the known physics is a linear combination of a constant, states and inputs cannot be told
from a missing term of that form; least squares then takes the least residual, which is the truth where what is
missing moves otherwise. Where it moves along, the parameter is pulled away: that is measured by fitting it with and
without the other terms.
"""

from __future__ import annotations

from dataclasses import dataclass

from greymatch.checking.estimate import Estimate, estimate
from greymatch.checking.finding import Finding, note, warning
from greymatch.checking.library import Column, Library
from greymatch.checking.points import Points
from greymatch.data.trajectories import Trajectories
from greymatch.models.sparse import simplest
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

REPRODUCED = 0.95
PULLED = 0.5  # standard deviations of the prior
LARGE = 0.1  # of the data's own derivative


@dataclass(frozen=True)
class Confounded:
    """How well `columns` reproduce a parameter's effect, and how far the `others` pull it from where it fits alone."""

    parameter: str
    r2: float
    columns: tuple[Column, ...]
    pull: float
    others: tuple[Column, ...]

    def finding(self) -> Finding:
        looks = f"{_listed(self.columns, 'missing from', ', or in ')} would look like a change of {self.parameter!r}"
        if self.pull <= PULLED:
            return note(f"a term in {looks} (R2 {self.r2:.2f})", self._fix())
        return warning(
            f"{self.parameter!r} is confounded with what may be missing: a term in {looks} (R2 {self.r2:.2f}), and "
            f"{_listed(self.others, 'in')} {'move' if len(self.others) > 1 else 'moves'} along, which shifts it by "
            f"{self.pull:.1f} of its prior's spread",
            f"{self._fix()}; or take it from model.explain(data).refit(data), where the missing term is explicit",
        )

    def _fix(self) -> str:
        return f"if these equations are complete, say so: complete={list(_equations(self.columns))}"


@dataclass(frozen=True)
class Fits:
    """The parameters fitted alone, and beside all terms that pass for none of them."""

    alone: Estimate
    beside: Estimate
    confounded: list[Confounded]


def confounded(physics: Physics, data: Trajectories, settings: Settings) -> list[Confounded]:
    """Of a physics on its data; none where no parameter is free."""
    if not physics.free:
        return []
    return confounding(Points.of(physics, data, settings)).confounded


def confounding(points: Points) -> Fits:
    """Every parameter whose effect the library reproduces, with what that may do to it."""
    library = Library.of(points)
    alone = estimate(points, library.without(set(library.columns)))
    found = _reproduced(points, library, alone)
    others = library.without({column for columns, _ in found.values() for column in columns})
    beside = estimate(points, others)
    shift = (beside.eps - alone.eps).abs().median(0).values.tolist()
    large = _large(points, others, beside)
    confounded = [
        Confounded(name, r2, columns, pull, tuple(one for one in large if one.equation in _equations(columns)))
        for (name, (columns, r2)), pull in zip(found.items(), shift, strict=True)
        if columns and r2 > REPRODUCED
    ]
    return Fits(alone, beside, confounded)


def _reproduced(points: Points, library: Library, alone: Estimate) -> dict[str, tuple[tuple[Column, ...], float]]:
    """The few columns that reproduce each parameter's effect, and how well they do."""
    if not library.columns:
        return dict.fromkeys(points.physics.free, ((), 0.0))
    found = {}
    for name, slope in zip(points.physics.free, points.slopes(alone.eps), strict=True):
        fit = simplest(library.values, points.flat(slope))
        found[name] = tuple(library.columns[i] for i in fit.kept), 1 - fit.unexplained**2
    return found


def _large(points: Points, library: Library, fitted: Estimate) -> list[Column]:
    """Terms that the data ask for beside the parameters."""
    size = library.values.square().mean((0, 1)).sqrt() * len(points.physics.states) ** 0.5
    weight = fitted.weights.abs().median(0).values * size
    return [column for column, part in zip(library.columns, weight.tolist(), strict=True) if part > LARGE]


def _equations(columns: tuple[Column, ...]) -> dict[str, list[str]]:
    """The terms of each equation."""
    found: dict[str, list[str]] = {}
    for column in columns:
        found.setdefault(column.equation, []).append(column.term)
    return found


def _listed(columns: tuple[Column, ...], word: str, between: str = " and ") -> str:
    """U and V missing from the equation of 'I', or in U missing from the equation of 'V'."""
    parts = [f"{' and '.join(terms)} {word} the equation of {name!r}" for name, terms in _equations(columns).items()]
    return between.join(parts) or "what is missing"
