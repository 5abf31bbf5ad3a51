"""How much wider an ensemble must be to hold what it promises, judged on trajectories not trained on.

Amortised posteriors are overconfident: they take a window's errors as independent. Parameters have a calibration of
their own (see `certainty`), since an error of theirs hardly shows in a forecast where the residual makes up for it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import spread_windows
from greymatch.models.network import Network, Sight
from greymatch.training.validation import EnsembleError, Validator

LEVEL = 0.9
DRAWS = 24
NARROWEST, WIDEST = 0.02, 16.0
SUREST = 0.95  # of what is asked of few trajectories
CLOSE, NARROW = 0.005, 1.08  # near enough to the level; a factor that makes no difference
STRAYING = 1.0  # an ensemble whose mean lies outside of most of its members has fallen apart
TELLING = 0.1  # least coverage that says what is missing; of what is not covered, a tenth of it will do
MOST_TRAJECTORIES, MOST_NUMBERS = 64, 2**18
HARDLY = 0.995
# A model of data that it explains to the last digit would call every other digit strange.
EXACT = 1e-12


def calibrate_forecasts(network: Network, validator: Validator) -> EnsembleError:
    """Set `network.widening` so that 90 % intervals of forecasts cover 90 % of the observations of the next trajectory.

    It is no wider than to keep the ensemble together: a few members that stray far spoil its mean, and cover nothing.
    Members carry the error that matching left unexplained as a constant one, unless the ensemble does better by
    CRPS without it: with noisy data that error lies in the observations, not in the field.
    """
    found, sight, wanted = [], validator.sight(network, DRAWS), _wanted(validator.judged(DRAWS))
    for kicked in (1.0, 0.0):
        network.kicked.fill_(kicked)
        found.append((_widened(network, validator, sight, wanted), network.widening.clone(), kicked))
    best, widening, kicked = min(found, key=lambda one: one[0].crps)
    network.widening.copy_(widening)
    network.kicked.fill_(kicked)
    return best


def _wanted(trajectories: int) -> float:
    """The coverage that so few must show for the next one to have that of the level: none of them is like it."""
    return min(LEVEL * (trajectories + 1) / trajectories, SUREST)


def _widened(network: Network, validator: Validator, sight: Sight, wanted: float) -> EnsembleError:
    """What an ensemble would need were its errors normal is tried next, within the bounds that are known by now."""

    def tried(width: float) -> EnsembleError:
        network.widening.fill_(width)
        return validator.ensemble(network, sight, LEVEL, DRAWS)

    if not network.draws_differ:
        return tried(1.0)
    low, high, width = NARROWEST, WIDEST, 1.0
    while True:
        found = tried(width)
        together = found.astray <= STRAYING
        low, high = (width, high) if together and found.coverage < wanted else (low, width)
        if together and abs(found.coverage - wanted) < CLOSE:
            return found
        if high < NARROW * low:
            return found if together else tried(low)
        width = _next(width, found.coverage, wanted, (low, high)) if together else (low * high) ** 0.5


def _next(width: float, coverage: float, wanted: float, bounds: tuple[float, float]) -> float:
    """The width at which a normal law would cover; the middle of the bounds where that tells nothing."""
    low, high = bounds
    if TELLING < coverage < 1 - TELLING / 10:
        asked = width * float(_reach(wanted) / _reach(coverage))
        if low * NARROW**0.5 < asked < high / NARROW**0.5:
            return asked
    return (low * high) ** 0.5


def _reach(coverage: float) -> Tensor:
    """How many standard deviations to either side hold so much of a normal law."""
    return torch.special.ndtri(torch.tensor((1 + coverage) / 2, dtype=torch.float64))


def calibrate_misfit(network: Network, *data: Trajectories) -> None:
    """Set `network.usual` to what hardly a window of `data`, learned from or not, exceeds."""
    if network.askable:
        found = torch.cat([_misfits(network, some) for some in data])
        network.usual.fill_(float(found.quantile(HARDLY).clamp_min(EXACT)) if len(found) else 0.0)


def _misfits(network: Network, data: Trajectories) -> Tensor:
    soon = MOST_NUMBERS // (network.settings.window * data.values[0, 0].numel())
    window, known = spread_windows(data.select(slice(max(4, min(MOST_TRAJECTORIES, soon)))), network.settings.window)
    with torch.no_grad():
        law = network.look(window, refine=True).own
    assert law is not None, "who can be asked gives a law"
    found = law.misfit[known.flatten()]
    return found[found.isfinite()]
