"""How a residual begins: its products as a regression on all trajectories finds them (see `factors`).

A net that begins as nothing must find out together what z stands for and what to make of it, which takes long and may
end where parameters make up for one another. The regression takes a second or two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from greymatch.data.trajectories import Trajectories
from greymatch.methods import method_named
from greymatch.models.credit import slope
from greymatch.models.evidence import Evidence
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.residual import FACTORS, MlpField, PolynomialField
from greymatch.models.whole import evidence_of, whole_amplitude
from greymatch.training.factors import Factors, Points

ROUNDS, SWEEPS = 4, 20
LONGEST_STEP, FARTHEST = 1.0, 4.0  # of a parameter in a round, and from its prior's middle
MOST_TRAJECTORIES, POINTS, MOST_COEFFICIENTS = 128, 48, 300
MORE_FACTORS, FAR_MORE = 3, 4.0  # products of three, or another z, must leave so many times less unexplained


def begun(build: Callable[[int | None], Network], products: int | None, data: Trajectories) -> Network:
    """The network that `build` makes of a number of factors, its products set; `products` is what was asked for."""
    network = build(products)
    tried = [(network, one) for one in _regressed(network, data)]
    if not tried:
        return network
    if products is None and isinstance(network.dynamics.field, MlpField):
        richer = build(MORE_FACTORS)
        tried = [(build(FACTORS), one) for _, one in tried] + [(richer, one) for one in _regressed(richer, data)]
    return _set(*_simplest(tried))


def _simplest(tried: list[tuple[Network, Factors]]) -> tuple[Network, Factors]:
    """The first that leaves hardly more unexplained than the best of all: the simplest, as they are in that order."""
    left = [_left(found, network) for network, found in tried]
    return next(one for one, its in zip(tried, left, strict=True) if its <= FAR_MORE * min(left))


def _left(found: Factors, network: Network) -> float:
    """What is unexplained in equations that are open, as a standard deviation."""
    return float(found.noise[network.dynamics.open > 0].log().mean().exp().sqrt())


def _set(network: Network, found: Factors) -> Network:
    weight = _weight(network)
    assert weight is not None, "what was regressed has weights"
    latents = network.settings.encoder.latents
    with torch.no_grad():
        weight.copy_(nn.functional.pad(found.weights, (0, latents - found.latents)).flatten(1))
    return network


def held(network: Network) -> list[Tensor]:
    """The weights that a regression has set: an encoder that knows little yet would undo them."""
    weight = _weight(network)
    return [weight] if weight is not None and bool(weight.any()) else []


def _products(network: Network) -> PolynomialField | None:
    if network.recalls:
        return None
    field = network.dynamics.field
    return field if isinstance(field, PolynomialField) else getattr(field, "products", None)


def _weight(network: Network) -> Tensor | None:
    """The coefficients, where a regression can find them: they are added to the physics, at points without a grid."""
    part, dynamics = _products(network), None if network.recalls else network.dynamics
    if part is None or dynamics is None or network.physics.grid or dynamics.learns_velocity:
        return None
    matched = method_named(network.settings.method).objective == "matching"
    plain = network.settings.residual.composition == "additive" and not network.settings.residual.sees_theta
    few = part.coefficients.in_features <= MOST_COEFFICIENTS
    return part.coefficients.weight if matched and plain and few and bool(dynamics.open.any()) else None


@torch.no_grad()
def _regressed(network: Network, data: Trajectories) -> list[Factors]:
    """With no factor, with one, and so on: nothing if there is nothing to regress, or it fails."""
    part = _products(network)
    if part is None or _weight(network) is None:
        return []
    shown = Shown.of(network, data.select(slice(MOST_TRAJECTORIES)))
    if shown is None:
        return []
    found = [_with(factors, network, shown) for factors in range(part.latents + 1)]
    return [one for one in found if bool(one.weights.isfinite().all() & one.noise.isfinite().all())]


def _with(factors: int, network: Network, shown: Shown) -> Factors:
    at = torch.zeros(shown.count, network.shapes.free, dtype=torch.float64)
    points = shown.points(network, at)
    found = Factors.first(points, factors, torch.Generator().manual_seed(network.settings.training.seed))
    for _ in range(ROUNDS):
        for _ in range(SWEEPS):
            found = found.better(points)
        at = (at + found.steps().clamp(-LONGEST_STEP, LONGEST_STEP)).clamp(-FARTHEST, FARTHEST)
        points = shown.points(network, at)
    return found


@dataclass(frozen=True)
class Shown:
    """What N trajectories show in `groups` of one length, in their order, up to `longest` points of each."""

    groups: list[tuple[Tensor, Evidence]]
    amplitude: Tensor
    longest: int

    @staticmethod
    def of(network: Network, data: Trajectories) -> Shown | None:
        groups = evidence_of(network, data, POINTS)
        if sum(len(rows) for rows, _ in groups) < 2:
            return None
        amplitude = whole_amplitude(network, data)
        longest = max(evidence.times.shape[1] for _, evidence in groups)
        return Shown(groups, torch.cat([amplitude[rows] for rows, _ in groups])[:, None], longest)

    @property
    def count(self) -> int:
        return len(self.amplitude)

    def points(self, network: Network, at: Tensor) -> Points:
        """With parameters `at` (N, L), in latent coordinates."""
        parts, first = [], 0
        for rows, evidence in self.groups:
            eps = at[first : first + len(rows)].float()
            unit = network.dynamics.scales_top * self.amplitude[first : first + len(rows)]
            parts.append([_padded(part, self.longest) for part in _of_group(network, evidence, eps, unit)])
            first += len(rows)
        phi, rest, slopes, doubt, seen = (torch.cat(part) for part in zip(*parts, strict=True))
        unmasked = network.dynamics.open.double()
        return Points(phi, rest, slopes, at, doubt, seen, self.amplitude.double(), unmasked)


def _of_group(network: Network, evidence: Evidence, eps: Tensor, unit: Tensor) -> tuple[Tensor, ...]:
    """Products, what is left open, slopes, doubt and whether it was seen, at each point of a group."""
    dynamics, part = network.dynamics, _products(network)
    assert part is not None, "asked of a network with products"
    over = Latents(eps, eps.new_zeros(len(eps), part.latents)).over(evidence.times.shape[1])
    known = dynamics.known(evidence.times, evidence.phase, over, evidence.inputs)
    phi = part.plain_terms(*dynamics.seen(evidence.times, evidence.phase, over, evidence.inputs, known))
    place = (evidence.times, evidence.phase, evidence.inputs, over)
    moves = [slope(dynamics, *place, index) / dynamics.scales_top for index in range(eps.shape[1])]
    slopes = torch.stack(moves, -1) if moves else known.new_zeros(*known.shape, 0)
    rest = (evidence.top - known) / dynamics.scales_top
    return phi, rest, slopes, (evidence.doubt / unit).square(), evidence.seen


def _padded(field: Tensor, longest: int) -> Tensor:
    """(n, W, ...) with zeros up to `longest` points, in double; what is not a number counts for nothing."""
    after = field.new_zeros(len(field), longest - field.shape[1], *field.shape[2:])
    return torch.cat([field, after], 1).double().nan_to_num(0.0, 0.0, 0.0)
