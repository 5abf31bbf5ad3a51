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
        free, seen = len(self.physics.free), self.motion.seen
        bounds = _bounds(self.physics, self.amplitude)
        middle = self.amplitude.new_zeros(len(self.amplitude), free)
        library = self._library()
        defect, design = self._linearised(middle)
        plain, misfit = _ridge(design, library[..., :0], defect, seen)
        best, weights, rich_misfit = middle, middle[:, :0], misfit
        for sweep in range(SWEEPS):
            here, slope = (defect, design) if sweep == 0 else self._linearised(best)
            solution, rich_misfit = _ridge(slope, library, here, seen)
            best = torch.minimum(torch.maximum(best + solution[:, :free], bounds[0]), bounds[1])
            weights = solution[:, free:]
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
        terms = [torch.ones_like(phase[:, :, :1]), phase]
        if motion.inputs is not None:
            terms.append(motion.over_grid(self.scales.of_inputs(motion.inputs)))
        rows = torch.cat(terms, 2).movedim(2, -1)
        shape = motion.values.shape
        open_states = [i for i, name in enumerate(self.physics.states) if name not in self.physics.complete]
        if not open_states or rows.shape[-1] * len(open_states) > LARGEST_LIBRARY:
            return rows.new_zeros(*shape, 0)
        columns = rows.new_zeros(*shape, len(open_states), rows.shape[-1])
        for place, state in enumerate(open_states):
            columns[:, :, state, ..., place, :] = rows
        return columns.flatten(-2)


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
    square = (rows.mT @ rows / count[..., None]).double()
    side = ((rows.mT @ aim[..., None]) / count[..., None]).double()
    ridge = [PHYSICS_RIDGE] * slopes.shape[-1] + [LIBRARY_RIDGE] * library.shape[-1]
    solution, _ = torch.linalg.solve_ex(square + torch.diag(square.new_tensor(ridge)), side)
    # two columns that say the same leave nothing to solve; a feature of zero says so
    solution = solution[..., 0].nan_to_num(0.0, 0.0, 0.0).to(rows.dtype)
    left = aim - (rows @ solution[..., None])[..., 0]
    return solution, (left.square().sum(1, keepdim=True) / count + 1e-12).log()


def squash(x: Tensor) -> Tensor:
    """Linear near zero, logarithmic far away: no single feature can blow up the net."""
    return x.sign() * torch.log1p(x.abs())
