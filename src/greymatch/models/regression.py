"""The normal equations of the known physics on a window.

With the velocities y of the window and the known physics f, made linear in the standardised parameters s,

    y - f(x, theta(s0)) ~ J (s - s0) + library(x) w,

least squares gives s (Gauss-Newton). It is solved once for the physics alone (w = 0) and once beside a linear
library of states and inputs, which stands for what the physics misses. Both answers, the weights w and the misfits
are features: neither need be right, the encoder learns what to make of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.models.least_squares import Reach, gauss_newton, ridge
from greymatch.models.library import in_equations, monomials, variables
from greymatch.models.motion import Motion
from greymatch.physics.physics import Physics

# the library pays more than the physics, so that it explains only what the physics cannot
PHYSICS_RIDGE = 1e-6
LIBRARY_RIDGE = 1e-4
SWEEPS = 4
NUDGE = 1e-4  # in standard deviations of the prior
LARGEST_LIBRARY = 32


@dataclass(frozen=True)
class Linearised:
    """The physics about standardised parameters `at` (B, L): defect (B, W, S, *grid) and slopes (B, W, S, *grid, L)."""

    at: Tensor
    defect: Tensor
    slopes: Tensor


@dataclass(frozen=True)
class Regression:
    """Gauss-Newton on the window's own velocities, in units of the data and of the window's amplitude."""

    physics: Physics
    motion: Motion
    amplitude: Tensor
    scales: Scales

    def solve(self) -> tuple[Tensor, list[Tensor], Linearised]:
        """The defect at the prior's mean, all facts for the encoder, and the physics about the solution."""
        middle = self.amplitude.new_zeros(len(self.amplitude), len(self.physics.free))
        library, seen = self._library(), self.motion.seen
        defect, design = self._linearised(middle)
        plain, misfit = _ridge(design, library[..., :0], defect, seen)
        rich_misfit = misfit

        def solved(at: Tensor) -> Tensor:
            nonlocal rich_misfit
            here, slopes = (defect, design) if at is middle else self._linearised(at)
            solution, rich_misfit = _ridge(slopes, library, here, seen)
            return solution

        best, weights = gauss_newton(solved, middle, Reach(*_bounds(self.physics, self.amplitude)), SWEEPS)
        latent = self._latent(best).clamp(-4, 4)
        facts = [squash(plain), best, latent, squash(weights), misfit, rich_misfit]
        return defect, facts, Linearised(best, *self._linearised(best))

    def _theta(self, standard: Tensor) -> Tensor:
        """Parameters (B, P) from standardised ones (B, L): theta = mean + std * s."""
        free = iter(standard.unbind(-1))
        priors = self.physics.params.values()
        like = standard.new_zeros(standard.shape[:-1])
        parts = [prior.mean + prior.std * next(free) if prior.latents else like + prior.mean for prior in priors]
        return torch.stack(parts, -1) if parts else standard.new_zeros((*standard.shape[:-1], 0))

    def _latent(self, standard: Tensor) -> Tensor:
        return self.physics.pull(self._theta(standard))

    def _linearised(self, standard: Tensor) -> tuple[Tensor, Tensor]:
        """Defect (B, W, S, *grid) and its slopes (B, W, S, *grid, L) about the standardised parameters.

        Central differences in double are as good as derivatives, and do not load a compiler as those do.
        """
        motion, order = self.motion, self.physics.order
        phase, points = motion.phase(order).double(), motion.times.shape[1]
        unit = motion.per_channel(self.scales.top(order) * self.amplitude)
        inputs = None if motion.inputs is None else motion.inputs.double()

        def known(at: Tensor) -> Tensor:
            theta = self._theta(at.double())[:, None].expand(-1, points, -1)
            return self.physics.evaluate(motion.times, phase, theta, inputs) / unit

        moves = NUDGE * torch.eye(standard.shape[1], dtype=torch.float64, device=standard.device)
        slopes = [(known(standard + move) - known(standard - move)) / (2 * NUDGE) for move in moves]
        defect = (motion.top(order) / unit - known(standard)).to(standard.dtype)
        return defect, torch.stack(slopes, -1).to(standard.dtype) if slopes else defect.new_zeros(*defect.shape, 0)

    def _library(self) -> Tensor:
        """Columns (B, W, S, *grid, K): for each open equation a constant, the states and the inputs."""
        motion, order = self.motion, self.physics.order
        _, spread = self.scales.phase(order)
        phase = motion.phase(order) / motion.per_channel(spread * self.amplitude.repeat(1, order))
        inputs = None if motion.inputs is None else self.scales.of_inputs(motion.inputs)
        terms = monomials(variables(phase, inputs))
        open_states = [i for i, name in enumerate(self.physics.states) if name not in self.physics.complete]
        affordable = terms.shape[2] * len(open_states) <= LARGEST_LIBRARY
        return in_equations(terms, open_states if affordable else [], len(self.physics.states))


def _bounds(physics: Physics, like: Tensor) -> tuple[Tensor, Tensor]:
    """Standardised parameters between which a step may land: inside the prior's support, with room for doubt."""
    free = [physics.params[name] for name in physics.free]
    ends = [[(prior.quantile(q) - prior.mean) / prior.std for prior in free] for q in (1e-4, 1 - 1e-4)]
    return like.new_tensor(ends[0]), like.new_tensor(ends[1])


def _ridge(slopes: Tensor, library: Tensor, target: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Regularised least squares over all points of each window: weights (B, K), log misfit (B, 1)."""
    design = torch.cat([slopes, library], -1)
    weight = seen.expand_as(target).flatten(1)
    rows = design.reshape(*weight.shape, design.shape[-1]) * weight[..., None]
    aim = target.flatten(1) * weight
    count = weight.sum(1).clamp_min(1)[:, None]
    penalty = [PHYSICS_RIDGE] * slopes.shape[-1] + [LIBRARY_RIDGE] * library.shape[-1]
    solution = ridge(rows, aim, rows.new_tensor(penalty, dtype=torch.float64), count)
    left = aim - (rows @ solution[..., None])[..., 0]
    return solution, (left.square().sum(1, keepdim=True) / count + 1e-12).log()


def squash(x: Tensor) -> Tensor:
    """Linear near zero, logarithmic far away: no single feature can blow up the net."""
    return x.sign() * torch.log1p(x.abs())
