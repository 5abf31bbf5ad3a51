"""How sure of the parameters a model may be, judged on trajectories not trained on, and without knowing the truth.

A posterior errs in two ways. Where windows of one trajectory disagree, it claims too much for a window, or too little:
that is a factor. What they all get wrong together hides in the residual (see `credit`): that is added.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import spread_windows
from greymatch.models.network import Network
from greymatch.models.whole import Recordings, whole

LEVEL, NORMAL = 0.9, 1.6449  # a share of trajectories, and within how many standard deviations a normal law has it
DRAWS, MOST_TRAJECTORIES, POINTS = 24, 64, 48
LEAST_FACTOR, MOST_FACTOR = 1e-3, 100.0
PRIOR, ROUNDING = 1.0, 2e-6  # nothing is less certain than the prior, or more than single precision can tell


def calibrate_parameters(network: Network, data: Trajectories) -> None:
    """Set `network.doubt`, and add to `network.blind`, which knows what laws disagree on that may all be true."""
    if network.shapes.free:
        some = data.select(slice(MOST_TRAJECTORIES))
        found = _estimates(network, some)
        factor = torch.maximum(_disagreement(found), _against_all(network, some, found))
        network.doubt.copy_(factor.clamp(LEAST_FACTOR, MOST_FACTOR))
        network.blind.copy_((network.blind.square() + _hidden(network, some).square()).sqrt().clamp_max(PRIOR))


class Estimates(NamedTuple):
    """Mean and variance of eps (N, W, L) from W windows over each trajectory, and which exist (N, W)."""

    mean: Tensor
    variance: Tensor
    known: Tensor


def _disagreement(found: Estimates) -> Tensor:
    """Factors (L,): how far the first window, from which forecasts are judged too, lies from the surest other one, in
    units of their standard deviations. Those of a standard normal law give 1, and so does a lack of windows."""
    claimed = found.variance.masked_fill(~found.known[..., None], torch.inf)
    surest = 1 + claimed[:, 1:].argmin(1, keepdim=True)
    both = torch.cat([torch.zeros_like(surest), surest], 1)
    spread = claimed.gather(1, both).sum(1).sqrt()
    return _factors(found.mean.gather(1, both).diff(dim=1)[:, 0].abs() / spread.clamp_min(1e-9), spread.isfinite())


def _against_all(network: Network, data: Trajectories, found: Estimates) -> Tensor:
    """Factors (L,): the same against what the whole recording says, if that can be trusted: with no residual there is
    nothing that both get wrong together, and without noise the recording is far surer than a window."""
    if not network.complete or data.noise:
        return torch.zeros_like(found.mean[0, 0])
    gap = (found.mean[:, 0] - whole(network, data).latents().eps).abs()
    return _factors(gap / found.variance[:, 0].sqrt().clamp_min(1e-9), found.known[:, :1].expand_as(gap))


def _factors(gaps: Tensor, compared: Tensor) -> Tensor:
    """By how much standard deviations must grow so that nine in ten gaps (N, L), and the next one, are as a normal law
    has them; 1 where none was `compared`."""
    found = torch.ones_like(gaps[0])
    for index, those in enumerate(compared.unbind(1)):
        count = int(those.sum())
        if count:
            level = min(1.0, LEVEL * (count + 1) / count)  # so many see themselves, and the next one is not of them
            found[index] = gaps[those, index].quantile(level) / NORMAL
    return found


def _estimates(network: Network, data: Trajectories) -> Estimates:
    window, known = spread_windows(data, network.settings.window)
    with torch.no_grad():
        sight = network.look(window)
        eps = network.claimed_parameters(sight, DRAWS, torch.Generator(window.times.device).manual_seed(0))
    eps = eps.reshape(DRAWS, *known.shape, -1)
    return Estimates(eps.mean(0), eps.var(0), known)


def _hidden(network: Network, data: Trajectories) -> Tensor:
    """Standard deviations (L,): what the residual owes the parameters of most trajectories, and the doubt about it."""
    if not network.credits:
        return torch.full_like(network.blind, ROUNDING)
    with torch.no_grad():
        recordings = Recordings.of(network, data, network.observe(data, refine=False).features, POINTS)
        credit = recordings.credit(network, recordings.posterior(network))
    owed, doubt = credit.paid().abs().quantile(LEVEL, 0) / NORMAL, credit.doubt.median(0).values
    return (owed.square() + doubt.square()).sqrt().clamp(ROUNDING, PRIOR)
