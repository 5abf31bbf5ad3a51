"""The coefficients of a completed physics, by the data themselves: the residual said which terms, not how large.

Each trajectory is asked as a whole, and what all of them say becomes the prior of the next round. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows, last_window, observed_lengths
from greymatch.matching.observed import interpolated
from greymatch.models.evidence import Evidence
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.models.whole import whole
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Prior
from greymatch.settings import Settings

ROUNDS = 3
ROOM, SHARPEST = 1.5, 1e-3
FIRST_NOISE = 0.01
NORMAL = 1.4826  # standard deviation of a normal law in units of its median absolute value
MOST_TRAJECTORIES, MOST_NUMBERS = 200, 2**21


@dataclass(frozen=True)
class Settled:
    """`priors` of the coefficients as trajectories differ, their `values` (N,) by name, and the `noise` (S,) left."""

    priors: dict[str, Prior]
    values: dict[str, Tensor]
    noise: Tensor


def settle(
    completed: Callable[[Mapping[str, Prior]], Physics],
    priors: Mapping[str, Prior],
    settings: Settings,
    data: Trajectories,
) -> Settled:
    """Of the physics that `completed` makes with such priors; those of its other parameters stay."""
    data = few(data)
    settled = Settled(dict(priors), {}, torch.full((len(data.states),), FIRST_NOISE))
    for _ in range(ROUNDS):
        network = untrained(completed(settled.priors), settings, data, settled.noise)
        found = whole(network, data)
        values = _values(network.physics, found, settled.priors)
        settled = Settled({name: _prior(one) for name, one in values.items()}, values, _noise(network, data, found))
    return settled


def few(data: Trajectories) -> Trajectories:
    """As many trajectories as are soon asked."""
    return data.select(slice(max(4, min(MOST_TRAJECTORIES, MOST_NUMBERS // data.values[0].numel()))))


def untrained(physics: Physics, settings: Settings, data: Trajectories, noise: Tensor) -> Network:
    """A network for a physics without a residual, which asks each window itself."""
    alone = {
        "residual.curves": (),
        "encoder.latents": 0,
        "encoder.probes": 0,
        "encoder.refine": True,
        "method": "vgb-dm",
    }
    settings = settings.updated(alone)
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.zeros(1, dtype=torch.long))
    with torch.random.fork_rng(devices=[]):
        network = Network.fitting(physics, settings, Scales.of(data, path), window)
    network.noise.copy_(noise)
    network.observed.copy_(torch.tensor(data.noise or 0.0))
    network.refined.fill_(1.0)
    return network


def _values(physics: Physics, found: Laplace, priors: Mapping[str, Prior]) -> dict[str, Tensor]:
    theta = physics.push(found.latents().eps).double()
    names = list(physics.params)
    return {name: theta[:, names.index(name)] for name in priors}


def _prior(values: Tensor) -> Prior:
    """As wide as the trajectories differ, with room; a few that went astray do not count."""
    low, middle, high = (float(values.quantile(level)) for level in (0.16, 0.5, 0.84))
    return Normal(middle, max(ROOM * (high - low) / 2, SHARPEST * abs(middle), 1e-12))


def _noise(network: Network, data: Trajectories, found: Laplace) -> Tensor:
    """What is left unexplained (S,), relative to the speed of the data; the median, since stencils err at the ends."""
    shortest = int(observed_lengths(data).min())
    evidence = Evidence.of(last_window(data, shortest), network.settings.encoder.stencil, network.physics.order)
    with torch.no_grad():
        latents = found.latents().over(shortest)
        said = network.dynamics.parts(evidence.times, evidence.phase, latents, evidence.inputs).total
    axes = (1,) * len(network.physics.grid)
    wrong = (said - evidence.top).abs() / network.dynamics.scales_top.reshape(-1, *axes)
    return NORMAL * wrong.movedim(2, 0).flatten(1).median(1).values
