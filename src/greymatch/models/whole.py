"""One posterior from all of a recording, not from its last window alone."""

from __future__ import annotations

import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import last_window, observed_lengths
from greymatch.models.laplace import THOROUGH, Laplace, Search
from greymatch.models.network import Network, Sight


def seen_whole(network: Network, data: Trajectories) -> Sight:
    """What is known of trajectories when all of each is asked."""
    return Sight(network.observe(data, refine=False).features, whole(network, data))


@torch.no_grad()
def whole(network: Network, data: Trajectories, before: Laplace | None = None, search: Search = THOROUGH) -> Laplace:
    """The posterior of each trajectory from all its points: each is asked as one long window.

    The search begins with what was found `before`, or with what the encoder says.
    """
    features = network.observe(data, refine=False).features
    told = before or Laplace.of(network.encode(features, None, sample=False))
    unit = network.dynamics.scales_top * features.amplitude
    lengths = observed_lengths(data)
    parts, rows = [], []
    for length in lengths.unique().tolist():
        some = (lengths == length).nonzero()[:, 0]
        window = last_window(data.select(some.cpu()), length)
        parts.append(network.ask(window, told.select(some), unit[some], search))
        rows.append(some)
    return Laplace.joined(parts).select(torch.cat(rows).argsort())
