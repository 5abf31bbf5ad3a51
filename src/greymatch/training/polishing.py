"""A law's coefficients to the last digits: those with which paths go through windows of many trajectories at once.

Finite differences of samples err, a regression on them does as well, and in all windows alike, so that none can know.
With the right law a path goes through every window (see `clean`). Gauss-Newton goes on to it from what the regression
found, in the coefficients and in scales of curves, together with the latents and the start of each window, which are
projected out:

    sum_b  min over latents and start of  |x_b - X_b(coefficients, latents, start)|^2.

It needs no more than a law that was found and some dozens of windows; no step of training does.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, spread_windows
from greymatch.models.clean import FIELD_STEPS, HOPEFUL, STEPS, Paths, paths
from greymatch.models.curves import Curve
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
DAMPING, WITH_Z = 1e-13, 1e-7  # of the largest square: windows tell nothing of the units in which z is told
SHORTER, MOST_DAMPING = 100.0, 1e-3


@torch.no_grad()
def polished(law: Law, data: Trajectories, build: Callable[[dict[str, Any]], Network] | None) -> Law:
    """The law with which paths go closest through windows, or as it was if there are no such paths. `build` makes
    its network anew, where curves have other scales; None if these are not to be changed."""
    network, free = law.told(), law.factors.weights != 0
    if bool(network.observed.any()) or not 0 < int(free.sum()) <= MOST_COEFFICIENTS:
        return law
    window = _windows(network, data)
    found = _paths(network, window)
    if found is None or len(found.rows) < max(2, FEWEST * len(window.times)):
        return law
    curves = network.dynamics.curves
    best = _swept(Polish(law, curves, tuple(curve.scaled and build is not None for curve in curves), free, found))
    if build is None or best.curves == curves:
        return best.law
    residual = network.settings.residual
    texts = {"residual.products": residual.products, "residual.curves": [str(curve) for curve in best.curves]}
    return replace(best.law, network=build(texts))


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
    """A law and its curves, some of which may be `scaled`, which of its weights are `free` (S, K, 1 + Z), and the paths
    that it has through windows. What is sought are C numbers: these weights, and logarithms of those scales.
    """

    law: Law
    curves: tuple[Curve, ...]
    scaled: tuple[bool, ...]
    free: Tensor
    found: Paths

    def path(self) -> Path:
        """How they go, and how they move (n, K + P + C, W, P, *grid) with latents, start, and the C numbers."""
        moves = NUDGE * torch.eye(self._count, dtype=torch.float64)
        nudged = tuple(self.moved(move)._dynamics() for move in moves)
        return replace(self.found.shooting, dynamics=self._dynamics(), nudged=nudged).path(self.found.guess)

    def moved(self, step: Tensor) -> Polish:
        """With a `step` (C,) of the numbers; paths stay where they are."""
        weights = self.law.factors.weights.clone()
        of_weights, of_scales = step.tensor_split([len(step) - sum(self.scaled)])
        weights[self.free] += of_weights
        factors = iter(of_scales.exp().tolist())
        curves = tuple(
            one.times(next(factors)) if yes else one for one, yes in zip(self.curves, self.scaled, strict=True)
        )
        law = replace(self.law, factors=replace(self.law.factors, weights=weights))
        return replace(self, law=law, curves=curves)

    def after(self, path: Path, step: Tensor, own: Tensor) -> Polish:
        """With a `step` (C,) of the numbers, and their `own` (n, K + P) of the windows."""
        steps = torch.cat([own, step.expand(len(own), -1)], 1)
        found = replace(self.found, guess=self.found.shooting.after(self.found.guess, path, steps))
        return replace(self.moved(step), found=found)

    @property
    def unknown(self) -> int:
        """How many numbers are each window's own."""
        return self.found.shooting.unknown(self.found.guess).shape[1]

    @property
    def _count(self) -> int:
        return int(self.free.sum()) + sum(self.scaled)

    def _dynamics(self) -> Dynamics:
        dynamics = deepcopy(self.found.shooting.dynamics)
        polynomial_of(dynamics).tell(self.law.coefficients)
        dynamics.curves = self.curves
        return dynamics


class Tried(NamedTuple):
    """A polish, its path, the misfits (n, N) of that and their slopes, and what it `cost`."""

    polish: Polish
    path: Path
    wrong: Tensor
    slopes: Tensor
    cost: float

    @staticmethod
    def of(polish: Polish) -> Tried:
        path = polish.path()
        wrong, slopes = polish.found.shooting.misfit(path)
        return Tried(polish, path, wrong, slopes, float((wrong.square().mean(1).sqrt() + path.bend).median()))

    def next(self, damping: float) -> Polish:
        unit = max(self.cost, FINEST)
        step, own = _step(self.wrong / unit, self.slopes / unit, self.polish.unknown, damping)
        return self.polish.after(self.path, step, own)


def _swept(polish: Polish) -> Polish:
    """The best on the way of Gauss-Newton, whose steps become shorter where little is gained."""
    best, damping = Tried.of(polish), WITH_Z if polish.law.factors.latents else DAMPING
    for _ in range(SWEEPS):
        tried = Tried.of(best.next(damping))
        damping = damping if tried.cost < GAIN * best.cost else SHORTER * damping
        best = tried if tried.cost < best.cost else best
        if damping > MOST_DAMPING:
            break
    return best.polish


def _step(wrong: Tensor, slopes: Tensor, count: int, damping: float) -> tuple[Tensor, Tensor]:
    """Steps (C,) of weights and (n, K + P) of what is each window's own, from misfits (n, N) and slopes (n, ..., N)."""
    trust = 1 / (1 + wrong.square() / 2)
    own, common = slopes.tensor_split([count], 1)
    side = torch.cat([common.mT, wrong[..., None]], 2) * trust[..., None]
    square = (own * trust[:, None]) @ own.mT + torch.eye(count).to(own)  # no prior: z may be told in other units
    moves = torch.linalg.solve_ex(square, own @ side)[0]
    schur = (common @ side - (common * trust[:, None]) @ own.mT @ moves).sum(0)
    square = schur[:, :-1] + damping * schur.diagonal().amax() * torch.eye(len(schur)).to(schur)
    step = -torch.linalg.solve_ex(square, schur[:, -1])[0].nan_to_num(0.0)
    return step, -(moves[..., -1] + moves[..., :-1] @ step).clamp(-LONGEST_STEP, LONGEST_STEP)
