"""Whether what is missing from a field depends on the place, and how: a source in one corner, an uneven coefficient.

At each cell a number of its own, times one or what is seen there, is projected out of all that is known of a
trajectory: what is left tells its parameters whatever that number is. Each point is judged by all others. If that
leaves far less unexplained, those numbers are a matrix of trajectories by cells. Its leading factors are profiles over
the grid: they are the same for all trajectories, which differ in how much they have of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.models.curves import AND, Curve
from greymatch.models.network import Network
from greymatch.training.curving import COST, left_out
from greymatch.training.factors import LEAST_NOISE, Points
from greymatch.training.law import FARTHEST, LONGEST_STEP, ROUNDS, part_of
from greymatch.training.shown import Shown

POINTS = 2**18  # of all trajectories that are looked at
MOST_PROFILES = 2
RIDGE = 1e-9
NAMES = "sqrcdabefghijklmnop"


class Place(NamedTuple):
    """Where numbers of cells stand: in which equation, times which of the `singles`, and whether beside products."""

    equation: int
    times: int
    beside: bool


@torch.no_grad()
def profiles_needed(network: Network, shown: Shown, left: float) -> Tensor | None:
    """Profiles (K, *grid), the first of which matter most; None if they leave no less than `left` by far, which is a
    standard deviation relative to a trajectory's."""
    some = shown.everywhere(POINTS)
    at = torch.zeros(some.count, network.shapes.free, dtype=torch.float64)
    within = _Within.of(network, some, at)
    best = min(within.places(), key=within.left)
    if not within.left(best) < 2 * math.log(left) - COST:
        return None
    plain = best._replace(beside=False)
    best = plain if within.left(plain) < within.left(best) + COST else best
    for _ in range(ROUNDS):
        at = (at + within.steps(best).clamp(-LONGEST_STEP, LONGEST_STEP)).clamp(-FARTHEST, FARTHEST)
        within = _Within.of(network, some, at)
    return _factors(within.numbers(best)).unflatten(1, network.shapes.grid)


def names_of(count: int, network: Network) -> list[str]:
    """Texts of so many curves that are profiles."""
    physics = network.physics
    free = [name for name in NAMES if name not in (*physics.phase, *physics.inputs, *physics.params, *physics.grid)]
    return [str(Curve("place", name, 1.0, (AND.join(physics.grid), ""))) for name in free[:count]]


@dataclass(frozen=True)
class _Within:
    """Points of some trajectories, at all of `cells` frame after frame, and what their numbers may be multiplied with,
    `singles` (n, P, K)."""

    points: Points
    singles: Tensor
    cells: int

    @staticmethod
    def of(network: Network, shown: Shown, at: Tensor) -> _Within:
        points = shown.points(network, part_of(network), at)
        return _Within(points, shown.singles(network.dynamics), math.prod(network.shapes.grid))

    def places(self) -> list[Place]:
        opened = self.points.allowed.any(1).nonzero()[:, 0].tolist()
        return [Place(equation, times, True) for times in range(self.singles.shape[-1]) for equation in opened]

    def left(self, place: Place) -> float:
        """The logarithm of what is unexplained beside numbers of cells, as squares, of a typical trajectory."""
        known, own, sure = self._known(place), self._own(place), self._sure(place)
        known = self._without(known, own)
        spent = own.square() / self._summed(own.square()).clamp_min(1e-300)
        wrong = left_out(known[..., :-1], known[..., -1], spent)
        squares = wrong.square().sum(1) / sure.square().sum(1).clamp_min(1e-300)
        return float((squares + LEAST_NOISE**2).log().mean())

    def steps(self, place: Place) -> Tensor:
        """How far the parameters (n, L) are from where they were."""
        return self._coefficients(place)[:, : self.points.at.shape[1]]

    def numbers(self, place: Place) -> Tensor:
        """What cells have beside all else (n, cells)."""
        known, own = self._known(place), self._own(place)
        rest = known[..., -1] - (known[..., :-1] @ self._coefficients(place)[..., None])[..., 0]
        found = self._summed(rest * own) / self._summed(own.square()).clamp_min(1e-300)
        scale = self.points.amplitude[:, :, place.equation]
        return found[:, : self.cells] * scale

    def _coefficients(self, place: Place) -> Tensor:
        known = self._without(self._known(place), self._own(place))
        design, target = known[..., :-1], known[..., -1:]
        square = design.mT @ design
        ridge = RIDGE * square.diagonal(dim1=1, dim2=2).amax(1)[:, None, None] + 1e-300
        return torch.linalg.solve(square + ridge * torch.eye(square.shape[-1]).to(square), design.mT @ target)[..., 0]

    def _sure(self, place: Place) -> Tensor:
        """The weight of each point (n, P) in units of the surest."""
        doubt = self.points.doubt[..., place.equation]
        return (self.points.seen[..., 0] / (LEAST_NOISE**2 + doubt)).sqrt() * LEAST_NOISE

    def _own(self, place: Place) -> Tensor:
        return self._sure(place) * self.singles[..., place.times]

    def _known(self, place: Place) -> Tensor:
        """What parameters and products can do, and what there is to explain as the last (n, P, K + 1)."""
        points, equation = self.points, place.equation
        columns = [points.slopes[:, :, equation], points.phi if place.beside else points.phi[..., :0]]
        columns.append(points.rest[:, :, equation, None])
        return torch.cat(columns, -1) * (self._sure(place) / points.amplitude[..., equation])[..., None]

    def _without(self, known: Tensor, own: Tensor) -> Tensor:
        """What is known less what numbers of cells say of it."""
        share = self._summed(own[..., None] * known) / self._summed(own.square()).clamp_min(1e-300)[..., None]
        return known - own[..., None] * share

    def _summed(self, values: Tensor) -> Tensor:
        """Over all frames of each cell, for each point (n, P, ...)."""
        frames = values.unflatten(1, (-1, self.cells))
        return frames.sum(1, keepdim=True).expand_as(frames).flatten(1, 2)


def _factors(numbers: Tensor) -> Tensor:
    """Profiles (K, cells) that explain most of all numbers (n, cells), up to one, of the sign that most have."""
    shares, _, profiles = torch.linalg.svd(numbers.nan_to_num(0.0), full_matrices=False)
    found = [_upright(shares[:, place], profiles[place]) for place in range(min(MOST_PROFILES, len(profiles)))]
    return torch.stack(found)


def _upright(share: Tensor, profile: Tensor) -> Tensor:
    return profile / profile.abs().amax().clamp_min(1e-300) * torch.where(share.sum() < 0, -1.0, 1.0)
