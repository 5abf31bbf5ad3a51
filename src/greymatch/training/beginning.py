"""How a residual begins: its products as a regression on all trajectories finds them (see `law`).

A net that begins as nothing must find out together what z stands for and what to make of it, which takes long and may
end where parameters make up for one another. The regression takes a few seconds. Where products of states only come
near a law, it may consist of curves (see `curving`). A law that is no such sum either is left to the net: what only
comes near it would have to be unlearned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.models.network import Network
from greymatch.models.residual import FACTORS, ConvField, MlpField
from greymatch.models.rollout import TOLERANCE
from greymatch.training.curving import COST, curves_needed
from greymatch.training.guessing import Build, Guessing
from greymatch.training.judging import judging
from greymatch.training.law import FAR_MORE, MORE, Law, in_few_terms, products_of, regressed
from greymatch.training.placing import MOST_PROFILES, names_of, profiles_needed
from greymatch.training.polishing import polished
from greymatch.training.shown import Shown
from greymatch.training.validation import Validator

MORE_FACTORS = 3  # products of three must leave far less unexplained
BETTER, AS_GOOD = 1.5, 1.5  # what is less simple must forecast so many times better, or is a rival
OTHER_SCALES = (0.7, 1.4)  # of curves
SAME = 1e-6  # of what two laws leave
MOST_JUDGING = 32  # trajectories
WELL = 1e-3  # the error of a typical forecast, relative to the variance and beside noise, that leaves little to learn
WITHIN = 1.5  # of the doubt that noise leaves about derivatives: who errs no more cannot be told from the true law
FAR = 3.0  # times the least error of a forecast, from which on a law is not the true one
SOLVED = (10 * TOLERANCE) ** 2  # error of a forecast that may be the solver's
NOISE = 2.0  # times the noise that a forecast is judged by: no better law could be told
FEW = 6  # terms: more are a fit, not a law
LONGEST, SHARE, MOST = 20.0, 0.25, 0.6  # seconds of processor for guesses, of a budget, and with all before them
MOST_POLISHED = 2  # guesses
HELD = "held"
REFERRED = 1  # times


@dataclass(frozen=True)
class Beginning:
    """A network, and the relative error (S,) of its derivatives if it begins as more than nothing.

    A field that is to be `held` forecasts well: an encoder that knows little yet would undo that.
    """

    network: Network
    noise: Tensor | None = None
    held: bool = False

    def told(self) -> dict[str, Any]:
        """The settings that were chosen, and whether it is held: what a checkpoint's weights are to be read with."""
        residual = self.network.settings.residual
        return {"residual.products": residual.products, "residual.curves": residual.curves, HELD: self.held}


def begun(build: Build, data: Trajectories, held_out: Trajectories) -> Beginning:
    """The network that `build` makes with changes of settings, its products set if they forecast well."""
    plain, began = build({}), time.process_time()
    able = products_of(build({"residual.products": _numbers(plain)[0]})) is not None and plain.prefers_asking
    shown = _shown(build, plain, data) if able else None
    laws = [] if shown is None else _in_products(build, plain, shown)
    if shown is None or not laws:
        return Beginning(plain)
    judge = Validator.of(judging(data, held_out, MOST_JUDGING) if data.noise else held_out, plain.settings.window)
    floor = float((plain.observed / plain.scales.spread).square().mean())
    laws += _in_curves(build, plain, shown, laws[0].at)
    laws += _in_places(build, plain, shown, min(law.left for law in laws))
    judged = [_judged(law, judge) for law in _distinct(laws)]
    polisher = Polisher(data, judge, build if plain.settings.residual.curves is None else None)
    if plain.settings.residual.curves is None:
        late = _late(plain.settings.training.minutes, began)
        enough = NOISE * floor if floor else AS_GOOD * min(one.error for one in judged)
        guesses = _guessed(Guessing(build, shown, _numbers(plain), late), judge, judged, enough)
        judged += guesses if floor else [polisher.of(one) for one in _nearest(guesses)]
    kept = _kept(judged, shown, floor)
    if not kept:
        return Beginning(plain)
    best = _simplest(kept) if floor else _best(kept)
    rivals = _rivals(best, judged)
    law, rivals = polisher.best(best, rivals)
    network = law.told()
    network.blind.copy_(_disputed(law, rivals))
    return Beginning(network, law.factors.noise.sqrt().float(), held=True)


def _shown(build: Build, plain: Network, data: Trajectories) -> Shown | None:
    """What trajectories show; noisy fields show it better the more is known of their law."""
    shown = Shown.of(plain, data)
    for _ in range(REFERRED if plain.refers and data.noise else 0):
        law = None if shown is None else regressed(build({"residual.products": _numbers(plain)[0]}), shown)
        if shown is None or law is None:
            return shown
        shown = Shown.of(law.told(), data, before=(shown, law.latents()))
    return shown


@dataclass(frozen=True)
class Polisher:
    """Laws through paths of the data, see `polishing`."""

    data: Trajectories
    judge: Validator
    build: Build | None

    def best(self, one: Judged, rivals: list[Judged]) -> tuple[Law, list[Law]]:
        """The law, and those that forecast about as well. Where polishing tells far more, rivals are polished too: one
        of them may be the true one."""
        own = self.of(one)
        if BETTER * own.error < one.error:
            rivals = [self.of(rival) for rival in rivals]
        best = _best([own, *rivals])
        near = [rival for rival in (own, *rivals) if rival.error <= AS_GOOD * best.error]
        return best.law, [rival.law for rival in near]

    def of(self, one: Judged) -> Judged:
        """It polished, or as it was if that forecasts better."""
        law = polished(one.law, self.data, self.build)
        after = one if law is one.law else _judged(law, self.judge)
        return after if after.error <= AS_GOOD * max(one.error, SOLVED) else one


class Judged(NamedTuple):
    """A law, and the error of its forecasts of a typical trajectory."""

    law: Law
    error: float

    @property
    def cost(self) -> tuple[int, int, float]:
        """Of laws that forecast about as well the one with less of it: the scale of a curve is as a term."""
        curves = self.law.network.dynamics.curves
        return self.law.terms + sum(curve.scaled for curve in curves), len(curves), self.error


def _judged(law: Law, judge: Validator) -> Judged:
    return Judged(law, judge.error(law.told(), refine=True).typical)


def _kept(judged: list[Judged], shown: Shown, floor: float) -> list[Judged]:
    """Those that forecast well; in noise also those that derivatives cannot tell from the true law, if forecasts
    cannot either."""
    near = FAR * min(one.error for one in judged)

    def keeps(one: Judged) -> bool:
        return one.error < WELL + 2 * floor or (floor > 0 and one.error < near and one.law.beyond_doubt(shown) < WITHIN)

    return [one for one in judged if keeps(one)]


def _in_products(build: Build, plain: Network, shown: Shown) -> list[Law]:
    """Of states and inputs alone, in as few terms as will do; more factors than the first has explain more."""
    tried = [build({"residual.products": number}) for number in _numbers(plain)]
    laws = [law for one in tried if (law := regressed(one, shown)) is not None]
    first = next((place for place, law in enumerate(laws) if law.left <= FAR_MORE * laws[-1].left), 0)
    able = [law for law in laws[first:] if law is laws[first] or MORE * law.left < laws[first].left]
    return [one for law in able for one in in_few_terms(law, shown)]


def _in_curves(build: Build, plain: Network, shown: Shown, at: Tensor) -> list[Law]:
    """Of curves as well, if they explain far more; in noise, with scales that may be as good, too."""
    if plain.settings.residual.curves is not None:
        return []
    able = [one for number in _numbers(plain) if products_of(one := build({"residual.products": number})) is not None]
    needed = [curves_needed(network, shown, at) for network in able]
    place = min(range(len(able)), key=lambda place: needed[place].cost + place * COST)
    products, curves = able[place].settings.residual.products, needed[place].curves
    scaled = bool(plain.observed.any()) and any(curve.scaled for curve in curves)
    found = []
    for factor in (1.0, *(OTHER_SCALES if scaled else ())) if curves else ():
        texts = [str(curve.times(factor)) for curve in curves]
        law = regressed(build({"residual.products": products, "residual.curves": texts}), shown)
        found += [] if law is None else in_few_terms(law, shown)
    return found


def _guessed(guessing: Guessing, judge: Validator, judged: list[Judged], enough: float) -> list[Judged]:
    """What noise hides, or products that move together: guesses of few terms, unless a law of few forecasts to
    `enough`, as far as time allows."""
    found, known = [], [one.law for one in judged]
    if any(one.error < enough and one.law.terms <= FEW for one in judged):
        return found
    for law in guessing.laws(known[0].at):
        found += [_judged(law, judge)] if _new(law, known) else []
        if guessing.late() or any(one.error < enough for one in found):
            break
    return found


def _nearest(guesses: list[Judged]) -> list[Judged]:
    """The few that forecast well, best first: polishing them takes time."""
    return sorted((one for one in guesses if one.error < WELL), key=lambda one: one.error)[:MOST_POLISHED]


def _late(minutes: float | None, began: float) -> Callable[[], bool]:
    """Whether guesses have taken their share of a budget, or the beginning has taken most of it."""
    budget, now = math.inf if minutes is None else 60 * minutes, time.process_time()
    end = min(now + LONGEST, now + SHARE * budget, began + MOST * budget)
    return lambda: time.process_time() > end


def _in_places(build: Build, plain: Network, shown: Shown, left: float) -> list[Law]:
    """Of products with profiles over the grid, if the place explains far more than is `left` otherwise."""
    residual, products = plain.settings.residual, _numbers(plain)[0]
    if not plain.physics.grid or residual.curves is not None or residual.among is not None:
        return []
    profiles = profiles_needed(build({"residual.products": products}), shown, left)
    found: list[Law] = []
    if profiles is None:
        return found
    for count in range(1, 1 + MOST_PROFILES):
        network = build({"residual.products": products, "residual.curves": names_of(count, plain)})
        network.dynamics.profiles.data.copy_(profiles[:count])
        law = regressed(network, shown)
        if law is not None and (not found or FAR_MORE * law.left < found[-1].left):
            found = in_few_terms(law, shown)
    return found


def _distinct(laws: list[Law]) -> list[Law]:
    """Those that leave as much unexplained to many digits are one: curves were offered, but none was taken."""
    found: list[Law] = []
    for law in laws:
        found += [law] if _new(law, found) else []
    return found


def _new(law: Law, among: list[Law]) -> bool:
    return not any(math.isclose(law.left, one.left, rel_tol=SAME) for one in among)


def _best(judged: list[Judged]) -> Judged:
    """The simplest, unless a later one forecasts clearly better."""
    best = judged[0]
    for one in judged:
        best = one if BETTER * one.error < best.error else best
    return best


def _simplest(judged: list[Judged]) -> Judged:
    """Of those that forecast about as well as the best, as far as noise lets that be told."""
    least = min(one.error for one in judged)
    return min((one for one in judged if one.error <= BETTER * least), key=lambda one: one.cost)


def _rivals(best: Judged, judged: list[Judged]) -> list[Judged]:
    """Those that forecast about as well; beside a law, none that is a fit: it can say what the law says, and leave to
    the parameters whatever it likes."""
    near = [one for one in judged if one is not best and one.error <= AS_GOOD * best.error]
    return [one for one in near if one.law.terms <= FEW or best.law.terms > FEW]


def _disputed(law: Law, rivals: list[Law]) -> Tensor:
    """Standard deviations (L,) of the parameters between laws that forecast about as well: any may be the true one."""
    return torch.stack([(one.at - law.at).square().mean(0).sqrt() for one in (law, *rivals)]).amax(0)


def _numbers(network: Network) -> list[int | None]:
    """How many factors products are tried with, few before many."""
    asked = network.settings.residual.products
    field = network.dynamics.field if not network.recalls else None
    free = isinstance(field, MlpField | ConvField) and asked is None and not network.settings.residual.convolves
    return [FACTORS, MORE_FACTORS] if free else [asked]
