"""How much wider the posterior must be to hold what it promises, judged on trajectories not trained on.

Amortised posteriors are overconfident: they take a window's errors as independent. Forecasts and parameters get a
factor each, since an error of a parameter hardly shows in a forecast where the residual makes up for it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather, usable
from greymatch.models.network import Network
from greymatch.training.validation import Validator

LEVEL, NORMAL = 0.9, 1.6449
DRAWS = 24
NARROWEST, WIDEST = 0.25, 16.0
HALVINGS = 6
MOST_TRAJECTORIES, WINDOWS = 64, 6
MOST_DOUBT = 100.0


def calibrate_forecasts(network: Network, validator: Validator) -> float:
    """Set `network.widening` so that 90 % intervals of forecasts cover 90 % of the observations; the coverage."""
    low, high = NARROWEST, WIDEST
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        network.widening.fill_(middle)
        low, high = (middle, high) if validator.coverage(network, LEVEL, DRAWS) < LEVEL else (low, middle)
    network.widening.fill_((low * high) ** 0.5)
    return validator.coverage(network, LEVEL, DRAWS)


def calibrate_parameters(network: Network, data: Trajectories) -> None:
    """Set `network.doubt` by consistency, which needs no truth: windows of one trajectory share its parameters.

    The difference of two windows' estimates, in units of their standard deviations, must lie within that of a
    standard normal for 90 % of the pairs. Errors that all windows share stay unseen.
    """
    if not network.shapes.free:
        return
    mean, variance, known = _estimates(network, data)
    first, second = torch.triu_indices(WINDOWS, WINDOWS, 1)
    both = known[:, first] & known[:, second]
    gap = (mean[:, first] - mean[:, second]).abs() / (variance[:, first] + variance[:, second]).sqrt().clamp_min(1e-9)
    if bool(both.any()):
        network.doubt.copy_((gap[both].quantile(LEVEL, 0) / NORMAL).clamp(1.0, MOST_DOUBT))


def _estimates(network: Network, data: Trajectories) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance of eps (N, WINDOWS, L) from windows over each trajectory, and which exist (N, WINDOWS)."""
    length = network.settings.window
    data = data.select(slice(MOST_TRAJECTORIES))
    there = usable(data, length)
    order = torch.where(there, torch.arange(there.shape[1], device=there.device), there.shape[1]).sort(1).values
    count = there.sum(1, keepdim=True)
    place = torch.linspace(0, 1, WINDOWS, device=count.device) * (count - 1).clamp_min(0)
    ends = order.gather(1, place.round().long())
    known = (ends < there.shape[1]) & (ends.diff(dim=1, prepend=ends[:, :1] - 1) > 0)
    rows = torch.arange(len(data), device=ends.device).repeat_interleave(WINDOWS)
    window = gather(data, rows, ends.clamp_max(there.shape[1] - 1).clamp_min(length - 1).flatten(), length)
    with torch.no_grad():
        generator = torch.Generator(window.times.device).manual_seed(0)
        eps = network.draw_parameters(network.features(window), DRAWS, generator)
    eps = eps.reshape(DRAWS, len(data), WINDOWS, -1)
    return eps.mean(0), eps.var(0), known
