"""How much wider an ensemble must be to hold what it promises, judged on trajectories not trained on.

Amortised posteriors are overconfident: they take a window's errors as independent. Parameters have a calibration of
their own (see `certainty`), since an error of theirs hardly shows in a forecast where the residual makes up for it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import spread_windows
from greymatch.models.network import Network
from greymatch.models.sight import Sight
from greymatch.training.loop import EXACT as EXACT_LAW
from greymatch.training.validation import EnsembleError, Validator

LEVEL = 0.9
DRAWS = 24
NARROWEST, WIDEST = 1e-4, 16.0
SUREST = 0.95  # the most that is asked of few trajectories
CLOSE, NARROW = 0.01, 1.08  # near enough to the level; a factor that makes no difference
STRAYING = 1.0  # an ensemble whose mean lies outside of most of its members has fallen apart
CLEARLY, LESS = 0.95, 0.05  # of a CRPS, and of a coverage
DEAR = 1.1  # or whose CRPS has grown so much: few trajectories that it misses would cost all others
MOST_TRAJECTORIES, MOST_NUMBERS = 64, 2**16
HARDLY = 0.995
# A model of data that it explains to the last digit would call every other digit strange.
EXACT = 1e-12


def calibrate_forecasts(network: Network, validator: Validator) -> EnsembleError:
    """Set `network.widening` so that 90 % intervals of forecasts cover 90 % of the observations of the next trajectory.

    It is no wider than to keep the ensemble together: a few members that stray far spoil its mean, and cover nothing;
    nor so much wider than was claimed that its CRPS grows by a tenth. Members carry the error that matching left
    unexplained as a constant one, unless the ensemble does clearly better by CRPS without it; with noisy data that
    error lies in the observations and not in the field, and members carry it only if they do clearly better with it.
    """
    found, sight = [], validator.sight(network, DRAWS)
    for kicked in (0.0, 1.0) if bool(network.observed.any()) else (1.0, 0.0):
        network.kicked.fill_(kicked)
        found.append((_widened(network, validator, sight), network.widening.clone(), kicked))
    usual, other = found
    best, widening, kicked = other if _clearly_better(other[0], usual[0]) else usual
    network.widening.copy_(widening)
    network.kicked.fill_(kicked)
    return best


def judge_of_ensembles(data: Trajectories, length: int, error: float) -> Validator:
    """Who judges ensembles of a model with this validation `error`: by forecasts from anywhere, but of a law that is
    exact, where all that errs is the solver, from first windows alone."""
    return Validator.of(data, length) if error < EXACT_LAW else Validator.over(data, length)


def _clearly_better(one: EnsembleError, other: EnsembleError) -> bool:
    """By CRPS, and not for covering far less."""
    return one.crps < CLEARLY * other.crps and one.coverage > min(other.coverage, LEVEL) - LESS


def _widened(network: Network, validator: Validator, sight: Sight) -> EnsembleError:
    """How much wider its members would have to be, if they kept their form, is tried next, within the bounds that are
    known by now."""

    def tried(width: float) -> EnsembleError:
        network.widening.fill_(width)
        return validator.ensemble(network, sight, LEVEL, DRAWS)

    found = tried(1.0)
    if not network.draws_differ:
        return found
    # beside noise, members that are far too close to one another cover as much
    least_width = 1.0 if bool(network.observed.any()) and found.astray <= STRAYING else NARROWEST
    low, high, width, guess, least = least_width, WIDEST, 1.0, True, math.inf
    wanted = found.wanted(LEVEL, SUREST)
    while True:
        least = min(least, found.crps) if width >= 1 else least
        together = found.astray <= STRAYING and (width <= 1 or found.crps <= DEAR * least)
        low, high = (width, high) if together and found.coverage < wanted else (low, width)
        least_wanted = LEVEL if width == 1 else wanted  # what was claimed stands if it holds on these
        if together and least_wanted - CLOSE < found.coverage < wanted + CLOSE:
            return found
        if high < NARROW * low:
            return found if together else tried(low)
        asked, margin = width * found.needed(wanted), NARROW**0.5
        likely = together and low * margin < asked < high / margin
        width = asked if guess and likely else (low * high) ** 0.5
        guess = not guess  # guesses alone may creep
        found = tried(width)


def calibrate_misfit(network: Network, *data: Trajectories) -> None:
    """Set `network.usual` to what hardly a window of `data`, learned from or not, exceeds."""
    if network.askable:
        found = torch.cat([_misfits(network, some) for some in data])
        network.usual.fill_(float(found.quantile(HARDLY).clamp_min(EXACT)) if len(found) else 0.0)


def _misfits(network: Network, data: Trajectories) -> Tensor:
    soon = MOST_NUMBERS // (network.settings.window * data.values[0, 0].numel())
    window, _ = spread_windows(data.select(slice(max(4, min(MOST_TRAJECTORIES, soon)))), network.settings.window)
    with torch.no_grad():
        found = network.misfit(window) if len(window.times) else network.usual.new_zeros(0)
    return found[found.isfinite()]
