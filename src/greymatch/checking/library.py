"""The smallest library of missing terms: a constant, each state and each input, in every open equation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.checking.points import Points

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
        terms = {CONSTANT: torch.ones_like(points.phase.select(2, 0)), **_states(points), **_inputs(points)}
        columns, values = [], []
        for index, state in enumerate(physics.states):
            if state in physics.complete:
                continue
            for name, term in terms.items():
                whole = torch.zeros_like(points.top)
                whole[:, :, index] = term.double()
                columns.append(Column(state, name))
                values.append(points.flat(whole))
        empty = points.flat(points.top)[..., None][..., :0]
        return Library(tuple(columns), torch.stack(values, -1) if values else empty)

    def without(self, some: set[Column]) -> Library:
        kept = [i for i, column in enumerate(self.columns) if column not in some]
        return Library(tuple(self.columns[i] for i in kept), self.values[..., kept])


def _states(points: Points) -> dict[str, Tensor]:
    _, spread = points.scales.phase(points.physics.order)
    parts = points.phase.unbind(2)
    return {name: part / size for name, part, size in zip(points.physics.phase, parts, spread, strict=True)}


def _inputs(points: Points) -> dict[str, Tensor]:
    if points.inputs is None:
        return {}
    scaled = points.inputs / points.scales.input_spread
    grid = (1,) * len(points.physics.grid)
    parts = scaled.reshape(*scaled.shape, *grid).unbind(2)
    shape = points.phase.select(2, 0).shape
    return {name: part.expand(shape) for name, part in zip(points.physics.inputs, parts, strict=True)}
