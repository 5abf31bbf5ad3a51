"""How much wider the posterior must be to hold what it promises, judged on trajectories not trained on.

Amortised posteriors are overconfident: they take a window's errors as independent. Forecasts and parameters get a
factor each, since an error of a parameter hardly shows in a forecast where the residual makes up for it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, gather, usable
from greymatch.models.network import Network, Sight
from greymatch.training.validation import EnsembleError, Validator

LEVEL, NORMAL = 0.9, 1.6449
DRAWS = 24
NARROWEST, WIDEST = 0.25, 16.0
HALVINGS = 6
MOST_TRAJECTORIES, WINDOWS = 64, 6
MOST_DOUBT = 100.0
HARDLY = 0.995
# A model of data that it explains to the last digit would call every other digit strange.
EXACT = 1e-12


def calibrate_forecasts(network: Network, validator: Validator) -> EnsembleError:
    """Set `network.widening` so that 90 % intervals of forecasts cover 90 % of the observations.

    Members carry the error that matching left unexplained as a constant one, unless the ensemble does better by
    CRPS without it: with noisy data that error lies in the observations, not in the field.
    """
    found, sight = [], validator.sight(network, DRAWS)
    for kicked in (1.0, 0.0):
        network.kicked.fill_(kicked)
        found.append((_widened(network, validator, sight), network.widening.clone(), kicked))
    best, widening, kicked = min(found, key=lambda one: one[0].crps)
    network.widening.copy_(widening)
    network.kicked.fill_(kicked)
    return best


def _widened(network: Network, validator: Validator, sight: Sight) -> EnsembleError:
    """Bisection on the logarithm of the widening."""
    low, high = NARROWEST, WIDEST
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        network.widening.fill_(middle)
        covers = validator.ensemble(network, sight, LEVEL, DRAWS).coverage >= LEVEL
        low, high = (low, middle) if covers else (middle, high)
    network.widening.fill_((low * high) ** 0.5)
    return validator.ensemble(network, sight, LEVEL, DRAWS)


def calibrate_parameters(network: Network, data: Trajectories) -> None:
    """Set `network.doubt` by consistency, which needs no truth: windows of one trajectory share its parameters.

    Of each trajectory the two windows that claim to know a parameter best are compared: their difference, in units of
    their standard deviations, must lie within that of a standard normal for 90 % of the trajectories. Errors that
    all windows share stay unseen.
    """
    if not network.shapes.free:
        return
    mean, variance, known = _estimates(network, data)
    claimed = variance.masked_fill(~known[..., None], torch.inf)
    best = claimed.argsort(1)[:, :2]
    both = claimed.gather(1, best).isfinite().all(1)
    gap = mean.gather(1, best).diff(dim=1)[:, 0].abs() / variance.gather(1, best).sum(1).sqrt().clamp_min(1e-9)
    for index in range(network.shapes.free):
        agreed = gap[:, index][both[:, index]]
        if len(agreed):
            network.doubt[index] = (agreed.quantile(LEVEL) / NORMAL).clamp(1.0, MOST_DOUBT)


def calibrate_misfit(network: Network, *data: Trajectories) -> None:
    """Set `network.usual` to what hardly a window of `data`, learned from or not, exceeds."""
    if network.askable:
        found = torch.cat([_misfits(network, some) for some in data])
        network.usual.fill_(float(found.quantile(HARDLY).clamp_min(EXACT)) if len(found) else 0.0)


def _misfits(network: Network, data: Trajectories) -> Tensor:
    window, known = _windows(network, data)
    with torch.no_grad():
        law = network.look(window, refine=True).own
    assert law is not None, "who can be asked gives a law"
    found = law.misfit[known.flatten()]
    return found[found.isfinite()]


def _estimates(network: Network, data: Trajectories) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance of eps (N, WINDOWS, L) from windows over each trajectory, and which exist (N, WINDOWS)."""
    window, known = _windows(network, data)
    with torch.no_grad():
        generator = torch.Generator(window.times.device).manual_seed(0)
        eps = network.draw_parameters(network.look(window), DRAWS, generator)
    eps = eps.reshape(DRAWS, len(known), WINDOWS, -1)
    return eps.mean(0), eps.var(0), known


def _windows(network: Network, data: Trajectories) -> tuple[Window, Tensor]:
    """Windows (N * WINDOWS) spread over each trajectory, and which of them exist (N, WINDOWS)."""
    length = network.settings.window
    data = data.select(slice(MOST_TRAJECTORIES))
    there = usable(data, length)
    order = torch.where(there, torch.arange(there.shape[1], device=there.device), there.shape[1]).sort(1).values
    count = there.sum(1, keepdim=True)
    place = torch.linspace(0, 1, WINDOWS, device=count.device) * (count - 1).clamp_min(0)
    ends = order.gather(1, place.round().long())
    known = (ends < there.shape[1]) & (ends.diff(dim=1, prepend=ends[:, :1] - 1) > 0)
    rows = torch.arange(len(data), device=ends.device).repeat_interleave(WINDOWS)
    return gather(data, rows, ends.clamp_max(there.shape[1] - 1).clamp_min(length - 1).flatten(), length), known
