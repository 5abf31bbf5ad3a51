"""How sure of the parameters a model may be, judged on trajectories not trained on, and without knowing the truth.

A posterior errs in two ways. Where windows of one trajectory disagree, it claims too much for a window, or too little:
that is a factor. What they all get wrong together hides in the residual (see `credit`): that is added.
"""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import spread_windows
from greymatch.models.network import Network
from greymatch.models.whole import Recordings

LEVEL, NORMAL = 0.9, 1.6449  # a share of trajectories, and within how many standard deviations a normal law has it
DRAWS, MOST_TRAJECTORIES, POINTS = 24, 64, 48
LEAST_FACTOR, MOST_FACTOR = 1e-3, 100.0
PRIOR = 1.0  # nothing is less certain than the prior


def calibrate_parameters(network: Network, data: Trajectories) -> None:
    """Set `network.doubt` and `network.blind`."""
    if network.shapes.free:
        some = data.select(slice(MOST_TRAJECTORIES))
        network.doubt.copy_(_disagreement(network, some))
        network.blind.copy_(_hidden(network, some))


def _disagreement(network: Network, data: Trajectories) -> Tensor:
    """Factors (L,): how far the first window, from which forecasts are judged too, lies from the surest other one, in
    units of their standard deviations. Those of a standard normal law give 1, and so does a lack of windows."""
    mean, variance, known = _estimates(network, data)
    claimed = variance.masked_fill(~known[..., None], torch.inf)
    surest = 1 + claimed[:, 1:].argmin(1, keepdim=True)
    both = torch.cat([torch.zeros_like(surest), surest], 1)
    gap = mean.gather(1, both).diff(dim=1)[:, 0].abs() / claimed.gather(1, both).sum(1).sqrt().clamp_min(1e-9)
    found = torch.ones_like(network.doubt)
    for index, compared in enumerate(claimed.gather(1, both).isfinite().all(1).unbind(1)):
        if bool(compared.any()):
            found[index] = gap[compared, index].quantile(LEVEL) / NORMAL
    return found.clamp(LEAST_FACTOR, MOST_FACTOR)


def _estimates(network: Network, data: Trajectories) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance of eps (N, W, L) from W windows over each trajectory, and which exist (N, W)."""
    window, known = spread_windows(data, network.settings.window)
    with torch.no_grad():
        sight = network.look(window)
        eps = network.claimed_parameters(sight, DRAWS, torch.Generator(window.times.device).manual_seed(0))
    eps = eps.reshape(DRAWS, *known.shape, -1)
    return eps.mean(0), eps.var(0), known


def _hidden(network: Network, data: Trajectories) -> Tensor:
    """Standard deviations (L,): what the residual owes the parameters of most trajectories, and the doubt about it."""
    if not network.credits:
        return torch.zeros_like(network.blind)
    with torch.no_grad():
        recordings = Recordings.of(network, data, network.observe(data, refine=False).features, POINTS)
        credit = recordings.credit(network, recordings.posterior(network))
    owed, doubt = credit.paid().abs().quantile(LEVEL, 0) / NORMAL, credit.doubt.median(0).values
    return (owed.square() + doubt.square()).sqrt().clamp_max(PRIOR)
