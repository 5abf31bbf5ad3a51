"""A law's coefficients to the last digits: those with which paths go through windows of many trajectories at once.

Finite differences of samples err, a regression on them does as well, and in all windows alike, so that none can know.
With the right law a path goes through every window (see `clean`). Gauss-Newton goes on to it from what the regression
found, in the coefficients together with the latents and the start of each window, which are projected out:

    sum_b  min over latents and start of  |x_b - X_b(coefficients, latents, start)|^2.

It needs no more than a law that was found and some dozens of windows; no step of training does.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, spread_windows
from greymatch.models.clean import FIELD_STEPS, HOPEFUL, STEPS, Paths, paths
from greymatch.models.dynamics import Dynamics
from greymatch.models.laplace import LONGEST_STEP, Laplace
from greymatch.models.network import Network
from greymatch.models.shooting import NUDGE, Path
from greymatch.training.law import Law, polynomial_of

WINDOWS, OF_FIELDS = 48, 12  # that are looked at
MOST_COEFFICIENTS = 150
FEWEST = 0.5  # of the windows must have such paths
SWEEPS, GAIN = 10, 0.95
FINEST = 1e-9  # misfit relative to a window's spread: below what single precision tells
DAMPING = 1e-7  # of the largest square: what windows tell less of, as in which units z is told, stays as it is


@torch.no_grad()
def polished(law: Law, data: Trajectories) -> Law:
    """The law with which most paths go through most windows, or as it was if there are no such paths."""
    network, free = law.told(), law.factors.weights != 0
    if bool(network.observed.any()) or not 0 < int(free.sum()) <= MOST_COEFFICIENTS:
        return law
    window = _windows(network, data)
    found = _paths(network, window)
    if found is None or len(found.rows) < max(2, FEWEST * len(window.times)):
        return law
    return _swept(Polish(law, free, found))


def _windows(network: Network, data: Trajectories) -> Window:
    """Spread over trajectories, and these over all of them."""
    most = OF_FIELDS if data.grid else WINDOWS
    rows = torch.linspace(0, len(data) - 1, min(most, len(data))).round().long()
    window, known = spread_windows(data.select(rows), network.settings.window)
    there = known.flatten().nonzero()[:, 0]
    return window.select(there[torch.linspace(0, len(there) - 1, min(most, len(there))).round().long()])


def _paths(network: Network, window: Window) -> Paths | None:
    features = network.features(window)
    law = Laplace.of(network.encoder(network.informed(features), None, sample=False))
    law = network.ask(network.evidence(window), law, network.dynamics.scales_top * features.amplitude)
    steps = dict.fromkeys(FIELD_STEPS if network.physics.grid else STEPS, HOPEFUL)
    return paths(network.dynamics, network.scales, window, features.amplitude, law, steps)


@dataclass(frozen=True)
class Polish:
    """A law, which of its weights are `free` (S, K, 1 + Z), and the paths that it has through windows."""

    law: Law
    free: Tensor
    found: Paths

    def path(self) -> Path:
        """How they go, and how they move (n, K + P + C, W, P, *grid) with latents, start, and the law's weights."""
        nudged = tuple(self._dynamics(self._nudged(place)) for place in self.free.nonzero())
        return replace(self.found.shooting, dynamics=self._dynamics(self.law), nudged=nudged).path(self.found.guess)

    def after(self, path: Path, step: Tensor, own: Tensor) -> Polish:
        """With a `step` (C,) of the weights, and their `own` (n, K + P) of the windows."""
        weights = self.law.factors.weights.clone()
        weights[self.free] += step
        steps = torch.cat([own, step.expand(len(own), -1)], 1)
        found = replace(self.found, guess=self.found.shooting.after(self.found.guess, path, steps))
        return replace(self, law=_with(self.law, weights), found=found)

    def _nudged(self, place: Tensor) -> Law:
        weights = self.law.factors.weights.clone()
        weights[tuple(place)] += NUDGE
        return _with(self.law, weights)

    def _dynamics(self, law: Law) -> Dynamics:
        dynamics = deepcopy(self.found.shooting.dynamics)
        polynomial_of(dynamics).tell(law.coefficients)
        return dynamics


def _with(law: Law, weights: Tensor) -> Law:
    return replace(law, factors=replace(law.factors, weights=weights))


def _swept(polish: Polish) -> Law:
    """The best law on the way of Gauss-Newton, which ends where little is gained."""
    best, least = polish.law, torch.inf
    for _ in range(SWEEPS):
        path, shooting = polish.path(), polish.found.shooting
        wrong, slopes = shooting.misfit(path)
        cost = float((wrong.square().mean(1).sqrt() + path.bend).median())
        gained = cost < GAIN * least
        best, least = (polish.law, cost) if cost < least else (best, least)
        if not gained:
            break
        unit = max(cost, FINEST)
        step, own = _step(wrong / unit, slopes / unit, shooting.unknown(polish.found.guess).shape[1])
        polish = polish.after(path, step, own)
    return best


def _step(wrong: Tensor, slopes: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Steps (C,) of weights and (n, K + P) of what is each window's own, from misfits (n, N) and slopes (n, ..., N)."""
    trust = 1 / (1 + wrong.square() / 2)
    own, common = slopes.tensor_split([count], 1)
    side = torch.cat([common.mT, wrong[..., None]], 2) * trust[..., None]
    square = (own * trust[:, None]) @ own.mT + torch.eye(count).to(own)  # no prior: z may be told in other units
    moves = torch.linalg.solve_ex(square, own @ side)[0]
    schur = (common @ side - (common * trust[:, None]) @ own.mT @ moves).sum(0)
    square, damping = schur[:, :-1], DAMPING * schur.diagonal().amax() * torch.eye(len(schur)).to(schur)
    step = -torch.linalg.solve(square + damping, schur[:, -1])
    return step, -(moves[..., -1] + moves[..., :-1] @ step).clamp(-LONGEST_STEP, LONGEST_STEP)
