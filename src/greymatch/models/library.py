"""Terms that an equation might miss: monomials of states, velocities and inputs, in every equation that is open."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor


def variables(phase: Tensor, inputs: Tensor | None) -> Tensor:
    """Phase (N, W, P, *grid) and inputs (N, W, U), which are the same all over the grid, as (N, W, P + U, *grid)."""
    if inputs is None:
        return phase
    grid = phase.shape[3:]
    everywhere = inputs.reshape(*inputs.shape, *(1,) * len(grid)).expand(*inputs.shape, *grid)
    return torch.cat([phase, everywhere.to(phase)], 2)


def monomials(columns: Tensor, degree: int = 1, most: int | None = None) -> Tensor:
    """The constant and all products (N, W, K, *grid) of up to `degree` columns (N, W, V, *grid); no degree that would
    make more than `most` of them."""
    parts = columns.unbind(2)
    one = columns.new_ones(*columns.shape[:2], *columns.shape[3:])
    found = [torch.stack([parts[i] for i in term]).prod(0) for term in powers(len(parts), degree, most)[1:]]
    return torch.stack([one, *found], 2)


def powers(count: int, degree: int, most: int | None = None) -> list[tuple[int, ...]]:
    """Which of so many columns each of the `monomials` multiplies."""
    found: list[tuple[int, ...]] = [()]
    for order in range(1, degree + 1):
        more = list(itertools.combinations_with_replacement(range(count), order))
        if most is not None and len(found) + len(more) > most:
            break
        found += more
    return found


def in_equations(terms: Tensor, equations: Sequence[int], states: int) -> Tensor:
    """Terms (N, W, K, *grid) as columns (N, W, S, *grid, E K) of E of the S equations, zero in all others."""
    rows = terms.movedim(2, -1)
    columns = rows.new_zeros(*rows.shape[:2], states, *rows.shape[2:-1], len(equations), rows.shape[-1])
    for place, equation in enumerate(equations):
        columns[:, :, equation, ..., place, :] = rows
    return columns.flatten(-2)
