"""The smallest library of missing terms: a constant, each state and each input, in every open equation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.checking.points import Points
from greymatch.models.library import in_equations, monomials, variables

CONSTANT = "a constant"


@dataclass(frozen=True)
class Column:
    """A term that the equation of a state might miss."""

    equation: str
    term: str


@dataclass(frozen=True)
class Library:
    """Columns and their values (N, R, K) along each trajectory, of size 1 or so."""

    columns: tuple[Column, ...]
    values: Tensor

    @staticmethod
    def of(points: Points) -> Library:
        """Equations that the user vouches for have no column."""
        physics = points.physics
        open_states = [i for i, name in enumerate(physics.states) if name not in physics.complete]
        names = (CONSTANT, *physics.phase, *physics.inputs)
        columns = tuple(Column(physics.states[i], name) for i in open_states for name in names)
        values = in_equations(monomials(_variables(points)), open_states, len(physics.states))
        empty = points.flat(points.top)[..., None][..., :0]
        return Library(columns, torch.stack([points.flat(one) for one in values.unbind(-1)], -1) if columns else empty)

    def without(self, some: set[Column]) -> Library:
        kept = [i for i, column in enumerate(self.columns) if column not in some]
        return Library(tuple(self.columns[i] for i in kept), self.values[..., kept])


def _variables(points: Points) -> Tensor:
    """Phase and inputs (N, M, V, *grid) in units of their spread."""
    _, spread = points.scales.phase(points.physics.order)
    phase = points.phase / spread.reshape(-1, *(1,) * len(points.physics.grid))
    return variables(phase, None if points.inputs is None else points.inputs / points.scales.input_spread)
