"""Laws that noise hides, guessed term by term for forecasts to choose among.

In noise a regression on all products leaves mostly noise, beside which no curve explains much. What stands out is a
law of few terms, as few columns have little noise to follow (see `vocabulary`). Those that explain most are regressed
on all trajectories at once, which tells more than each by itself. From the best on another term is added, as long as
that leaves less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from greymatch.models.credit import MOST_TERMS
from greymatch.models.curves import Curve
from greymatch.models.library import powers
from greymatch.models.network import Network
from greymatch.training.law import Law, in_terms, part_of, products_of
from greymatch.training.shown import Shown
from greymatch.training.vocabulary import Vocabulary, Word, names_of

LONGEST = 4  # terms of a guess
TRIED, KEPT = 12, 2  # guesses of as many terms that are regressed, and that are gone on from
GAIN = math.log(1.1)  # by which a term must divide the squares that are left, and by half of which a curve must
STEP, STEPS = 1.5, 3  # by which scales are changed, and how often

Build = Callable[[dict[str, Any]], Network]


@dataclass(frozen=True)
class Guess:
    """Terms of equations, each a product of what it names, and the logarithm of the squares that they leave."""

    terms: tuple[tuple[int, Word], ...]
    left: float

    @property
    def curves(self) -> tuple[Curve, ...]:
        return tuple(dict.fromkeys(part for _, word in self.terms for part in word if isinstance(part, Curve)))

    @property
    def degree(self) -> int:
        return max(len(word) for _, word in self.terms)

    @property
    def kind(self) -> frozenset[tuple[int, tuple[str, ...]]]:
        """The same for curves that have other scales."""
        return frozenset((equation, tuple(map(_kind, word))) for equation, word in self.terms)

    def times(self, factor: float) -> Guess:
        """With other scales of its curves."""

        def scaled(part: str | Curve) -> str | Curve:
            return part.times(factor) if isinstance(part, Curve) else part

        return Guess(tuple((equation, tuple(map(scaled, word))) for equation, word in self.terms), self.left)


class Guessed(NamedTuple):
    """A guess, and the law that a regression of all trajectories makes of it."""

    guess: Guess
    law: Law

    @property
    def cost(self) -> float:
        """The logarithm of the squares that are left, and more for curves: noise must not make one of a product."""
        return 2 * math.log(self.law.left) + GAIN / 2 * len(self.guess.curves)


@dataclass(frozen=True)
class Guessing:
    """How guesses are regressed: with products of one of these `numbers` of factors, and none once it is `late`."""

    build: Build
    shown: Shown
    numbers: Sequence[int | None]
    late: Callable[[], bool]

    @torch.no_grad()
    def laws(self, at: Tensor) -> Iterator[Law]:
        """The best few of one term, then of two, ..., with the parameters of trajectories `at` (N, L)."""
        words = Vocabulary.of(self.build({"residual.products": self.numbers[-1]}), self.shown, at)
        last, least = [Guess((), sum(words.left(equation, ())[0] for equation in words.search.open))], math.inf
        for _ in range(LONGEST):
            tried = _best_kinds([more for one in last for more in _longer(one, words)])
            found = sorted(map(self._scaled, self._regressed(tried)[:KEPT]), key=_cost)
            if self.late() or not found or found[0].cost > least - GAIN:
                return
            yield from (one.law for one in found)
            last, least = [one.guess for one in found], found[0].cost

    def _regressed(self, tried: Sequence[Guess]) -> list[Guessed]:
        """The best first."""
        found = [Guessed(one, law) for one in tried if not self.late() and (law := self._law(one)) is not None]
        return sorted(found, key=_cost)

    def _law(self, guess: Guess) -> Law | None:
        """None if no network has such products."""
        enough = [number for number in self.numbers if number is not None and number >= guess.degree]
        curves = [str(curve) for curve in guess.curves] or None
        network = self.build({"residual.products": [*enough, self.numbers[-1]][0], "residual.curves": curves})
        places = None if products_of(network) is None else _places(guess, network)
        law = None if places is None else in_terms(network, self.shown, places)
        return law if law is not None and law.factors.finite else None

    def _scaled(self, one: Guessed) -> Guessed:
        """With other scales, as long as they leave less."""
        best = one
        for factor in (STEP, 1 / STEP) if any(curve.scaled for curve in one.guess.curves) else ():
            for step in range(1, 1 + STEPS):
                other = self._regressed([one.guess.times(factor**step)])
                if not other or other[0].cost >= best.cost:
                    break
                best = other[0]
        return best


def _cost(one: Guessed) -> float:
    return one.cost


def _longer(guess: Guess, words: Vocabulary) -> Iterator[Guess]:
    """With one more term of any equation."""
    for equation in words.search.open:
        own = tuple(word for place, word in guess.terms if place == equation)
        before, after = words.left(equation, own)
        for word, left in zip(words.words, after.tolist(), strict=True):
            if word not in own and left < before - GAIN:
                yield Guess((*guess.terms, (equation, word)), guess.left - before + left)


def _best_kinds(found: list[Guess]) -> list[Guess]:
    best: dict[frozenset[tuple[int, tuple[str, ...]]], Guess] = {}
    for one in sorted(found, key=lambda one: one.left):
        best.setdefault(one.kind, one)
    return list(best.values())[:TRIED]


def _places(guess: Guess, network: Network) -> list[tuple[int, int]] | None:
    """Equations and columns of `credit.candidates`; None if a term is none of those."""
    names = [str(name) for name in names_of(network.dynamics)]
    columns = powers(len(names), part_of(network).degree, MOST_TERMS)
    terms = [(equation, tuple(sorted(names.index(str(part)) for part in word))) for equation, word in guess.terms]
    if any(term not in columns for _, term in terms):
        return None
    return [(equation, columns.index(term)) for equation, term in terms]


def _kind(part: str | Curve) -> str:
    return part if isinstance(part, str) else part.times(1 / part.scale).words
