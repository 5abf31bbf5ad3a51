"""Candidate terms of a formula: monomials of named states, velocities and inputs, from pysindy's library."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from greymatch.errors import GreymatchError

MOST_TERMS = 200


@dataclass(frozen=True)
class Term:
    """A product of powers of named variables; none at all is the constant 1."""

    powers: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """As one writes it: u w, angle_dot, u^3."""
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in self.powers) or "1"

    @property
    def identifier(self) -> str:
        """The same as a plain name."""
        words = "_".join(f"{name}{power if power > 1 else ''}" for name, power in self.powers) or "constant"
        return re.sub(r"\W+", "_", re.sub(r"\|(\w+)\|", r"abs_\1", words)).strip("_")

    def values(self, columns: dict[str, Tensor]) -> Tensor:
        """The term where the variables have these values, all of one shape."""
        product = torch.ones_like(next(iter(columns.values())))
        for name, power in self.powers:
            product = product * columns[name] ** power
        return product


def candidates(names: Sequence[str], degree: int) -> list[Term]:
    """Every monomial of `names` up to `degree`, the constant first."""
    import pysindy

    if degree < 1:
        raise GreymatchError(f"`degree` must be at least 1; got {degree!r}.")
    if math.comb(len(names) + degree, degree) > MOST_TERMS:
        raise GreymatchError(
            f"`degree` {degree} over {len(names)} variables gives more than {MOST_TERMS} terms. Lower it, or say with "
            f"`among` which of {list(names)} the missing part may depend on."
        )
    library = pysindy.PolynomialLibrary(degree=degree)
    library.fit(np.zeros((1, len(names))))  # pyright: ignore[reportArgumentType]
    return [
        Term(tuple((name, int(power)) for name, power in zip(names, row, strict=True) if power))
        for row in library.powers_
    ]


def curved(names: Sequence[str], curves: Sequence[str]) -> list[Term]:
    """Every curve, alone, with any of `names` or with another curve."""
    alone = [Term(((curve, 1),)) for curve in curves]
    beside = [Term(((name, 1), (curve, 1))) for curve in curves for name in names]
    return [*alone, *beside, *(Term(((one, 1), (other, 1))) for one, other in itertools.combinations(curves, 2))]
