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
from greymatch.data.windows import Window, spread_windows, usable
from greymatch.models.clean import FIELD_STEPS, HOPEFUL, STEPS, Paths, paths
from greymatch.models.curves import Curve
from greymatch.models.dynamics import Dynamics
from greymatch.models.laplace import LONGEST_STEP
from greymatch.models.network import Network
from greymatch.models.shooting import NUDGE, Guess, Path, Shooting
from greymatch.training.law import Law, polynomial_of

WINDOWS, OF_FIELDS = 48, 12  # that are looked at
MOST_COEFFICIENTS, MOST_NUMBERS = 150, 2**25  # of slopes, which are held several times
FEWEST = 0.5  # of the windows must have such paths
SWEEPS, PATIENCE, GAIN = 10, 2, 0.95
FINEST = 1e-9  # misfit relative to a window's spread: below what single precision tells
DAMPING, WITH_Z = 1e-13, 1e-7  # of the largest square: windows tell nothing of the units in which z is told
SHORTER = 1e3


@torch.no_grad()
def polished(law: Law, data: Trajectories, build: Callable[[dict[str, Any]], Network] | None) -> Law:
    """The law with which paths go closest through windows, or as it was if there are no such paths. `build` makes
    its network anew, where curves have other scales; None if these are not to be changed."""
    network, free = law.told(), law.factors.weights != 0
    if bool(network.observed.any()) or not 0 < int(free.sum()) <= MOST_COEFFICIENTS:
        return law
    window = _windows(network, data)
    found = _paths(network, window) if len(window.times) > 1 else None
    if found is None or len(found.rows) < max(2, FEWEST * len(window.times)):
        return law
    curves = network.dynamics.curves
    scaled = tuple(curve.scaled and build is not None for curve in curves)
    polish = Polish(law, curves, scaled, free, found.shooting, found.closest.guess)
    if polish.count * polish.guess.nodes.numel() > MOST_NUMBERS:
        return law
    best = _swept(polish)
    if build is None or best.curves == curves:
        return best.law
    residual = network.settings.residual
    texts = {"residual.products": residual.products, "residual.curves": [str(curve) for curve in best.curves]}
    return replace(best.law, network=build(texts))


def _windows(network: Network, data: Trajectories) -> Window:
    """Spread over trajectories, and these over all that have one."""
    length, most = network.settings.window, OF_FIELDS if data.grid else WINDOWS
    long = usable(data, length).any(1).nonzero()[:, 0]
    window, _ = spread_windows(data.select(long[_spread(len(long), most)].cpu()), length)
    return window.select(_spread(len(window.times), most))


def _spread(count: int, most: int) -> Tensor:
    return torch.linspace(0, max(0, count - 1), min(most, count)).round().long()


def _paths(network: Network, window: Window) -> Paths | None:
    features = network.features(window)
    told = network.matched(window, features)
    steps = dict.fromkeys(FIELD_STEPS if network.physics.grid else STEPS, HOPEFUL)
    return paths(network.dynamics, network.scales, window, features.amplitude, told, steps)


@dataclass(frozen=True)
class Polish:
    """A law and its curves, some of which may be `scaled`, which of its weights are `free` (S, K, 1 + Z), and the paths
    that it has through windows. What is sought are C numbers: these weights, and logarithms of those scales.
    """

    law: Law
    curves: tuple[Curve, ...]
    scaled: tuple[bool, ...]
    free: Tensor
    shooting: Shooting
    guess: Guess

    def path(self) -> Path:
        """How they go."""
        unmoved = replace(self.guess, moves=self.guess.nodes[:, None][:, :0])  # a field need not be asked for more
        return replace(self.shooting, dynamics=self._dynamics()).path(unmoved)

    def moving(self) -> Path:
        """The same, and how they move (n, K + P + C, W, P, *grid) with latents, start, and the C numbers."""
        moves = NUDGE * torch.eye(self.count, dtype=torch.float64)
        nudged = tuple(self.moved(move)._dynamics() for move in moves)
        return replace(self.shooting, dynamics=self._dynamics(), nudged=nudged).path(self.guess)

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
        return replace(self.moved(step), guess=self.shooting.after(self.guess, path, steps))

    @property
    def unknown(self) -> int:
        """How many numbers are each window's own."""
        return self.shooting.unknown(self.guess).shape[1]

    @property
    def count(self) -> int:
        """How many are sought."""
        return int(self.free.sum()) + sum(self.scaled)

    def _dynamics(self) -> Dynamics:
        dynamics = deepcopy(self.shooting.dynamics)
        polynomial_of(dynamics).tell(self.law.coefficients)
        dynamics.curves = self.curves
        return dynamics


class Tried(NamedTuple):
    """A polish, and how far its paths are from what was seen in most windows."""

    polish: Polish
    cost: float

    @staticmethod
    def of(polish: Polish) -> Tried:
        path = polish.path()
        wrong, _ = polish.shooting.misfit(path)
        each = wrong.square().mean(1).sqrt() + path.bend
        return Tried(polish, float(each.nan_to_num(torch.inf, torch.inf).median()))

    def next(self, damping: float) -> Polish:
        """One step of Gauss-Newton from here."""
        path, unit = self.polish.moving(), max(self.cost, FINEST)
        wrong, slopes = self.polish.shooting.misfit(path)
        step, own = _step(wrong / unit, slopes / unit, self.polish.unknown, damping)
        return self.polish.after(path, step, own)


def _swept(polish: Polish) -> Polish:
    """The best on the way of Gauss-Newton, whose steps become shorter where little is gained."""
    best, damping, failed = Tried.of(polish), WITH_Z if polish.law.factors.latents else DAMPING, 0
    for _ in range(SWEEPS):
        tried = Tried.of(best.next(damping))
        gained = tried.cost < GAIN * best.cost
        best = tried if tried.cost < best.cost else best
        damping, failed = (damping, 0) if gained else (SHORTER * damping, failed + 1)
        if failed == PATIENCE:
            break
    return best.polish


def _step(wrong: Tensor, slopes: Tensor, count: int, damping: float) -> tuple[Tensor, Tensor]:
    """Steps (C,) of weights and (n, K + P) of what is each window's own, from misfits (n, N) and slopes (n, ..., N)."""
    trust = 1 / (1 + wrong.square() / 2)
    own, common = slopes.tensor_split([count], 1)
    side = torch.cat([common.mT, wrong[..., None]], 2) * trust[..., None]
    of_windows = (own * trust[:, None]) @ own.mT + torch.eye(count).to(own)  # no prior: z may be told in other units
    moves = torch.linalg.solve_ex(of_windows, own @ side)[0]
    schur = (common @ side - (common * trust[:, None]) @ own.mT @ moves).nan_to_num(0.0, 0.0, 0.0).sum(0)
    square = schur[:, :-1] + damping * schur.diagonal().amax() * torch.eye(len(schur)).to(schur)
    step = -torch.linalg.solve_ex(square, schur[:, -1])[0].nan_to_num(0.0).clamp(-LONGEST_STEP, LONGEST_STEP)
    return step, -(moves[..., -1] + moves[..., :-1] @ step).nan_to_num(0.0).clamp(-LONGEST_STEP, LONGEST_STEP)
