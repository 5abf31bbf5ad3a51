"""What a guess may be made of: products, and curves times one or any state, and how much each would explain.

Each trajectory is regressed by itself on what its parameters can do and on few words of one equation. What is left at a
point is told by all others, as in `curving`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.models.credit import MOST_TERMS
from greymatch.models.curves import Curve
from greymatch.models.dynamics import Dynamics
from greymatch.models.library import powers
from greymatch.models.network import Network
from greymatch.training.curving import LONELY, Search
from greymatch.training.factors import LEAST_NOISE
from greymatch.training.law import part_of
from greymatch.training.shown import Shown, Terms

SAME = 1e-6  # squares of a column left by others, below which it says nothing new
ALIKE = 0.999  # squares of a curve's term that a product says as well: it is that

Word = tuple[str | Curve, ...]


@dataclass(frozen=True)
class Vocabulary:
    """Every word that may be a term, and its `columns` (n, P, W)."""

    search: Search
    words: list[Word]
    columns: Tensor

    @staticmethod
    def of(network: Network, shown: Shown, at: Tensor) -> Vocabulary:
        names, part = names_of(network.dynamics), part_of(network)
        plain = [tuple(names[place] for place in term) for term in powers(len(names), part.degree, MOST_TERMS)]
        allowed = torch.ones(len(network.physics.states), len(plain))
        terms = Terms(list(range(len(plain))), part.degree, allowed)
        search = Search.of(network, shown, at, terms, range(1 + len(names)))
        curves = list(search.candidates(()))
        bent = [(*word, curve) for curve in curves for word in plain[: 1 + len(names)]]
        columns = torch.cat([search.points.phi, *map(search.bent, curves)], -1)
        own = [*range(len(plain)), *(len(plain) + place for place in _own(columns, len(plain)))]
        return Vocabulary(search, [[*plain, *bent][place] for place in own], columns[..., own])

    def left(self, equation: int, own: tuple[Word, ...]) -> tuple[float, Tensor]:
        """The logarithm of the squares that words leave, and (W,) what they leave beside each other one."""
        sure, points = self.search.sure(equation)[..., None], self.search.points
        chosen = torch.stack([self._column(word) for word in own], -1) if own else self.columns[..., :0]
        slopes = points.slopes[:, :, equation] / points.amplitude[..., equation, None]
        # what is known of parameters beforehand counts as further points: they must not stand for a term
        prior = LEAST_NOISE * torch.eye(slopes.shape[-1], dtype=slopes.dtype).expand(len(slopes), -1, -1)
        basis = _basis(torch.cat([_above(slopes * sure, prior), _above(chosen * sure, 0 * prior)], -1))
        target = _above(self.search.target(equation)[..., None] * sure, -LEAST_NOISE * points.at[..., None])
        wrong, lever = target - basis @ (basis.mT @ target), basis.square().sum(-1, keepdim=True)
        more = _above(self.columns * sure, 0 * prior)
        new = more - basis @ (basis.mT @ more)
        size = new.square().sum(1, keepdim=True) + SAME * more.square().sum(1, keepdim=True) + 1e-300
        after = wrong - new * ((new * wrong).sum(1, keepdim=True) / size)
        return float(_left_out(wrong, lever, sure)), _left_out(after, lever + new.square() / size, sure)

    def _column(self, word: Word) -> Tensor:
        """Scales of curves may be others than those of all words."""
        *beside, last = word or ("",)
        bent = self.search.bent(last) if isinstance(last, Curve) else self.columns
        return bent[..., self.words.index(tuple(beside) if isinstance(last, Curve) else word)]


def _above(rows: Tensor, below: Tensor) -> Tensor:
    """Rows (n, P, K) and those `below` (n, L, any), as wide."""
    below = below[..., : rows.shape[-1]]
    return torch.cat([rows, torch.nn.functional.pad(below, (0, rows.shape[-1] - below.shape[-1]))], 1)


def _own(columns: Tensor, plain: int) -> list[int]:
    """Which of the columns (n, P, W) after the first `plain` say what none of those does."""
    flat = columns.flatten(0, 1)
    unit = flat / flat.square().sum(0).sqrt().clamp_min(1e-300)
    alike = (unit[:, :plain].T @ unit[:, plain:]).square().amax(0)
    return (alike < ALIKE).nonzero()[:, 0].tolist()


def _left_out(wrong: Tensor, lever: Tensor, sure: Tensor) -> Tensor:
    """Of fits that leave points `wrong` (n, P, W), each by what all others say of it: that of a typical trajectory."""
    count = sure.shape[1]  # without what is known beforehand
    wrong, lever = wrong[:, :count], lever[:, :count]
    squares = (wrong / (1 - lever).clamp_min(LONELY)).square().sum(1) / sure.square().sum(1).clamp_min(1e-300)
    return (squares + LEAST_NOISE**2).log().mean(0)


def _basis(design: Tensor) -> Tensor:
    """Orthonormal (n, P, K); what says nothing new is zero."""
    if not design.shape[-1]:
        return design
    scaled = design / design.square().sum(1, keepdim=True).sqrt().clamp_min(1e-300)
    left, sizes, _ = torch.linalg.svd(scaled, full_matrices=False)
    return left * (sizes > SAME**0.5 * sizes[:, :1].clamp_min(1e-300))[:, None]


def names_of(dynamics: Dynamics) -> list[str | Curve]:
    """The variables that terms are products of, in the order of `credit.candidates`."""
    physics = dynamics.physics
    seen = [name for name, sees in zip(physics.phase, dynamics.sees_phase.tolist(), strict=True) if sees]
    given = [name for name, sees in zip(physics.inputs, dynamics.sees_inputs.tolist(), strict=True) if sees]
    return [*seen, *dynamics.curves, *given]
