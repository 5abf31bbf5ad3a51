"""What the encoder sees of a window: scaled values, derivatives, and the normal equations of the physics.

With the velocities y of the window and the known physics f, made linear in the standardised parameters s,

    y - f(x, theta(s0)) ~ J (s - s0) + library(x) w,

least squares gives s (Gauss-Newton). It is solved once for the physics alone (w = 0) and once beside a linear
library of states and inputs, which stands for what the physics misses. Both answers, the weights w and the misfits
are features: neither need be right, the encoder learns what to make of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.func import jvp

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.matching.stencils import window_derivatives
from greymatch.physics.physics import Physics

# the library pays more than the physics, so that it explains only what the physics cannot
PHYSICS_RIDGE = 1e-6
LIBRARY_RIDGE = 1e-4
SWEEPS = 4
LARGEST_LIBRARY = 32


class Features(NamedTuple):
    """`sequence` (B, W, C, *grid) along the window, `summary` (B, K), `amplitude` (B, S) relative to the data."""

    sequence: Tensor
    summary: Tensor
    amplitude: Tensor

    def padded(self, length: int) -> Features:
        """The sequence with zeros before it, up to `length` points; its mask channels then say "not seen"."""
        missing = length - self.sequence.shape[1]
        if not missing:
            return self
        blank = self.sequence.new_zeros(len(self.sequence), missing, *self.sequence.shape[2:])
        return self._replace(sequence=torch.cat([blank, self.sequence], 1))


def window_features(physics: Physics, window: Window, scales: Scales, stencil: int, amplitude_floor: float) -> Features:
    """Features that do not change when the units of the data do."""
    order = physics.order
    values = fill_gaps(window)
    times = window.times - window.end[:, None]
    # in double, since differences of large values over short steps leave little of a float32
    derivatives = window_derivatives(times, values.to(times), points=stencil, order=2)
    values, times, first, second = (part.float() for part in (values, times, *derivatives))
    seen = window.mask.float()
    mean, amplitude = _mean_and_amplitude(values, scales, amplitude_floor)
    grid_axes = values.ndim - 3
    per = lambda scale: _channels(scale, grid_axes)  # noqa: E731
    size = per(amplitude)
    columns = [
        (values - per(mean)) / (per(scales.spread) * size),
        first / (per(scales.velocity) * size),
        seen,
    ]
    columns += [second / (per(scales.acceleration) * size)] * (order == 2)
    inputs = None
    if window.inputs is not None:
        inputs = window.inputs.float()
        scaled = (inputs - scales.input_center) / scales.input_spread
        columns.append(scaled.reshape(*scaled.shape, *(1,) * grid_axes).expand(*scaled.shape, *values.shape[3:]))
    clock = times / (scales.step * times.shape[1])
    columns.append(clock.reshape(*clock.shape, 1, *(1,) * grid_axes).expand(*clock.shape, 1, *values.shape[3:]))
    summary = [amplitude.log(), squash((mean - scales.center) / scales.spread)]
    top = second if order == 2 else first
    phase = torch.cat([values, first], 2) if order == 2 else values
    regression = Regression(physics, window.times.float(), phase, top, inputs, seen, amplitude, scales)
    defect, facts = regression.solve()
    columns.append(squash(defect))
    summary += facts
    return Features(torch.cat(columns, 2), torch.cat(summary, -1), amplitude)


@dataclass(frozen=True)
class Regression:
    """Gauss-Newton on the window's own velocities, in units of the data and of the window's amplitude."""

    physics: Physics
    times: Tensor
    phase: Tensor
    top: Tensor
    inputs: Tensor | None
    seen: Tensor
    amplitude: Tensor
    scales: Scales

    @property
    def _unit(self) -> Tensor:
        return _channels(self.scales.top(self.physics.order) * self.amplitude, self.phase.ndim - 3)

    def solve(self) -> tuple[Tensor, list[Tensor]]:
        """The defect at the prior's mean, and all facts for the encoder."""
        free = len(self.physics.free)
        bounds = _bounds(self.physics, self.phase)
        middle = self.phase.new_zeros(len(self.phase), free)
        library = self._library()
        defect, design = self._linearised(middle)
        plain, misfit = _ridge(design, library[..., :0], defect, self.seen)
        best, weights, rich_misfit = middle, middle[:, :0], misfit
        for sweep in range(SWEEPS):
            here, slope = (defect, design) if sweep == 0 else self._linearised(best)
            solution, rich_misfit = _ridge(slope, library, here, self.seen)
            best = torch.minimum(torch.maximum(best + solution[:, :free], bounds[0]), bounds[1])
            weights = solution[:, free:]
        latent = self._latent(best).clamp(-4, 4)
        return defect, [squash(plain), best, latent, squash(weights), misfit, rich_misfit]

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
        """Defect (B, W, S, *grid) and its slopes (B, W, S, *grid, L) about the standardised parameters."""
        points = self.times.shape[1]

        def known(at: Tensor) -> Tensor:
            theta = self._theta(at)[:, None].expand(-1, points, -1)
            return self.physics.evaluate(self.times, self.phase, theta, self.inputs) / self._unit

        directions = torch.eye(standard.shape[1], dtype=standard.dtype, device=standard.device)
        slopes = [jvp(known, (standard,), (one.expand_as(standard),))[1] for one in directions]
        defect = self.top / self._unit - known(standard)
        return defect, torch.stack(slopes, -1) if slopes else defect.new_zeros(*defect.shape, 0)

    def _library(self) -> Tensor:
        """Columns (B, W, S, *grid, K): for each open equation a constant, the states and the inputs."""
        _, spread = self.scales.phase(self.physics.order)
        axes = self.phase.ndim - 3
        size = self.amplitude.repeat(1, self.physics.order)
        terms = [torch.ones_like(self.phase[:, :, :1]), self.phase / _channels(spread * size, axes)]
        if self.inputs is not None:
            scaled = (self.inputs - self.scales.input_center) / self.scales.input_spread
            terms.append(scaled.reshape(*scaled.shape, *(1,) * axes).expand(*scaled.shape, *self.phase.shape[3:]))
        rows = torch.cat(terms, 2).movedim(2, -1)
        open_states = [i for i, name in enumerate(self.physics.states) if name not in self.physics.complete]
        if not open_states or rows.shape[-1] * len(open_states) > LARGEST_LIBRARY:
            return rows.new_zeros(*self.top.shape, 0)
        columns = rows.new_zeros(*self.top.shape, len(open_states), rows.shape[-1])
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
    solution = torch.linalg.solve(square + torch.diag(square.new_tensor(ridge)), side)[..., 0].to(rows.dtype)
    left = aim - (rows @ solution[..., None])[..., 0]
    return solution, (left.square().sum(1, keepdim=True) / count + 1e-12).log()


def fill_gaps(window: Window) -> Tensor:
    """The window's values with gaps bridged by lines between observed neighbours, held at the ends."""
    if bool(window.mask.all()):
        return window.values
    count = window.mask.shape[1]
    shape = (1, count) + (1,) * (window.mask.ndim - 2)
    index = torch.arange(count, device=window.mask.device).reshape(shape).expand(window.mask.shape)
    before = torch.where(window.mask, index, -1).cummax(1).values
    after = torch.where(window.mask, index, count).flip(1).cummin(1).values.flip(1)
    left = torch.where(before >= 0, before, after.clamp_max(count - 1))
    right = torch.where(after < count, after, left)
    times = window.times.reshape(*window.times.shape, *shape[2:]).expand(window.mask.shape)
    start, stop = times.gather(1, left), times.gather(1, right)
    part = ((times - start) / (stop - start).clamp_min(1e-300)).clamp(0, 1)
    low, high = window.values.gather(1, left), window.values.gather(1, right)
    return low + (high - low) * part.to(low.dtype)


def squash(x: Tensor) -> Tensor:
    """Linear near zero, logarithmic far away: no single feature can blow up the net."""
    return x.sign() * torch.log1p(x.abs())


def _mean_and_amplitude(values: Tensor, scales: Scales, floor: float) -> tuple[Tensor, Tensor]:
    """Mean over the window (B, S) and its spread relative to the data's, never below `floor`."""
    flat = values.movedim(2, 1).flatten(2)
    spread = flat.std(-1, unbiased=False) / scales.spread
    return flat.mean(-1), (spread.square() + floor**2).sqrt()


def _channels(scale: Tensor, grid_axes: int) -> Tensor:
    """(S,) or (B, S) shaped to broadcast over (B, W, S, *grid)."""
    lead = scale[:, None] if scale.ndim == 2 else scale
    return lead.reshape(*lead.shape, *(1,) * grid_axes)
