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
from greymatch.data.windows import Windows, last_window, observed_lengths, readable
from greymatch.matching.observed import interpolated
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
OF_A_MEDIAN = 1.571  # variance of a median in units of that of a mean
UNTOLD = 0.999  # of the prior's variance: of more, data say nothing
HALVINGS = 40
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
    data = few(data, settings.window)
    settled = Settled(dict(priors), {}, torch.full((len(data.states),), FIRST_NOISE))
    for _ in range(ROUNDS):
        network = untrained(completed(settled.priors), settings, data, settled.noise)
        found = whole(network, data)
        told = {name: Told.of(name, prior, network.physics, found) for name, prior in settled.priors.items()}
        settled = Settled(
            {name: one.noisy_prior() if data.noise else one.prior() for name, one in told.items()},
            {name: one.values for name, one in told.items()},
            _noise(network, data, found),
        )
    return settled


def few(data: Trajectories, window: int) -> Trajectories:
    """As many trajectories as are soon asked, of those that can be; all, if none can."""
    able = readable(data, window).nonzero()[:, 0]
    data = data.select(able) if 0 < len(able) < len(data) else data
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


@dataclass(frozen=True)
class Told:
    """What trajectories say of one coefficient: its likeliest `values` (N,), and what each says without the prior that
    it was asked with, `own` (N,), with its `variance` (N,)."""

    values: Tensor
    own: Tensor
    variance: Tensor

    @staticmethod
    def of(name: str, prior: Prior, physics: Physics, found: Laplace) -> Told:
        """With a normal prior about m, of variance V, a coefficient that is known to p V is likeliest at m + (1 - p) of
        the way to what data say, whose variance is p V / (1 - p)."""
        assert isinstance(prior, Normal), "coefficients have normal priors"
        place, eps = list(physics.free).index(name), found.latents().eps.double()
        known = found.spread[:, place].double().square().clamp(max=UNTOLD)
        values = physics.push(eps)[:, list(physics.params).index(name)]
        own = prior.mean + (values - prior.mean) / (1 - known)
        return Told(values, own, prior.std**2 * known / (1 - known))

    def prior(self) -> Normal:
        """As wide as the trajectories differ, with room; a few that went astray do not count."""
        low, middle, high = (float(self.values.quantile(level)) for level in (0.16, 0.5, 0.84))
        return Normal(middle, max(ROOM * (high - low) / 2, SHARPEST * abs(middle), 1e-12))

    def noisy_prior(self) -> Normal:
        """As wide as the trajectories differ by more than noise lets them: half of all lie as near to the middle as a
        normal law of both has them. What noise leaves open about the middle comes to it."""
        middle = self.own.median()
        away, both = (self.own - middle).square(), self.variance
        low, high = away.new_zeros(()), away.max()
        for _ in range(HALVINGS):
            width = (low + high) / 2
            narrow = (away / (width + both)).median() > 1 / NORMAL**2
            low, high = torch.where(narrow, width, low), torch.where(narrow, high, width)
        about = OF_A_MEDIAN * (high + both).mean() / len(both)
        return Normal(float(middle), max(float((ROOM**2 * high + about).sqrt()), 1e-12))


def _noise(network: Network, data: Trajectories, found: Laplace) -> Tensor:
    """What is left unexplained (S,), relative to the speed of the data; the median, since stencils err at the ends."""
    shortest = int(observed_lengths(data).min())
    with torch.no_grad():
        evidence = network.evidence(last_window(data, shortest))
        latents = found.latents().over(evidence.times.shape[1])
        said = network.dynamics.parts(evidence.times, evidence.phase, latents, evidence.inputs).total
    axes = (1,) * len(network.physics.grid)
    unit = network.dynamics.scales_top.reshape(-1, *axes)
    left = _typical(NORMAL * (said - evidence.top).abs() / unit)
    return (left.square() - _typical(evidence.doubt / unit).square()).clamp_min(0.0).sqrt() if evidence.alone else left


def _typical(field: Tensor) -> Tensor:
    """The median (S,) over windows, points and cells."""
    return field.movedim(2, 0).flatten(1).median(1).values
