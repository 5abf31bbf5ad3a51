"""Hints for the encoder: Gauss-Newton on the window in theta and z, through the residual as learned so far.

The normal equations of the physics know nothing of z. Once the residual r(x | z) has a form, the z that explains
a window solves least squares too:

    defect ~ J (s - s0) + r(x | z),    s, z ~ N(0, 1).

The answer and its precision are features for the encoder; no gradient passes through them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.models.dynamics import Dynamics
from greymatch.models.latents import Latents
from greymatch.models.probe import Probe

SWEEPS = 2
STEP = 0.1  # of z, for slopes by differences
NOISE = 0.01  # relative error of a window's velocities, as far as it is trusted
FARTHEST = 4.0
LOGARITHM = 0.1  # brings logarithms of precisions down to the size of other features


def count_hints(free: int, latents: int) -> int:
    """How many features there are."""
    return 2 * (free + latents) + 1


@torch.no_grad()
def hints(dynamics: Dynamics, probe: Probe, start: Tensor, amplitude: Tensor, latents: int) -> Tensor:
    """Features (B, K): the solution for standardised parameters, begun at `start` (B, L), and z; log precisions; log
    misfit."""
    with torch.autocast(start.device.type, enabled=False):  # least squares needs every digit
        return _hints(dynamics, probe, start, amplitude, latents)


def _hints(dynamics: Dynamics, probe: Probe, start: Tensor, amplitude: Tensor, latents: int) -> Tensor:
    free = start.shape[1]
    prior = start.new_zeros(len(start), free + latents)
    found = torch.cat([torch.zeros_like(start), prior[:, free:]], 1)
    origin = torch.cat([start, prior[:, free:]], 1)
    precision, misfit = prior, prior[:, :1]
    question, normal = _Question.of(dynamics, probe, amplitude, latents), _Normal.of(probe)
    one = torch.eye(free + latents, device=start.device, dtype=torch.float64)
    for _ in range(SWEEPS):
        wrong, slopes = question.linearised(found)
        square, side = normal.equations(slopes, wrong)
        square = square + one
        step = torch.linalg.solve_ex(square, (side - origin - found)[..., None])[0][..., 0].to(start.dtype)
        found = (origin + found + step.nan_to_num(0.0)).clamp(-FARTHEST, FARTHEST) - origin
        precision = square.diagonal(dim1=-2, dim2=-1).log().to(start.dtype)
        misfit = (wrong.square() * probe.seen).flatten(1).mean(1, keepdim=True)
    return torch.cat([origin + found, LOGARITHM * precision, LOGARITHM * (misfit + 1e-8).log()], 1)


@dataclass(frozen=True)
class _Question:
    """The residual at a probe's points for z and for a step along each of its Z directions: (1 + Z) B members, whose
    `moves` are (1 + Z, 1, Z); all but z is worked out once."""

    dynamics: Dynamics
    probe: Probe
    moves: Tensor
    state: Tensor
    time: Tensor
    inputs: Tensor | None
    known: Tensor
    unit: Tensor

    @staticmethod
    def of(dynamics: Dynamics, probe: Probe, amplitude: Tensor, latents: int) -> _Question:
        axes = (1,) * (probe.defect.ndim - 3)
        unit = (dynamics.scales_top * amplitude).reshape(len(amplitude), 1, -1, *axes)
        center, spread = (part.reshape(-1, *axes) for part in (dynamics.scales_center, dynamics.scales_spread))
        driven = probe.inputs
        if driven is not None:
            driven = dynamics.scales_input_center + driven * dynamics.scales_input_spread

        def many(part: Tensor) -> Tensor:
            return part.repeat(1 + latents, *(1,) * (part.ndim - 1))

        return _Question(
            dynamics,
            probe,
            moves=STEP * torch.eye(1 + latents, latents, device=unit.device, dtype=unit.dtype).roll(1, 0)[:, None],
            state=many(dynamics.visible(center + probe.phase * spread)),
            time=many(dynamics.scales_time_center + probe.time.double() * dynamics.scales_time_spread),
            inputs=None if driven is None else many(driven),
            known=many(probe.known * unit),
            unit=unit,
        )

    def linearised(self, found: Tensor) -> tuple[Tensor, Tensor]:
        """What is left unexplained (B, M, S, *g) and its slopes (B, M, L + Z, S, *g)."""
        probe, free = self.probe, self.probe.slopes.shape[2]
        shift, z = found.split([free, found.shape[1] - free], 1)
        said, *after = self._residuals(z + self.moves)
        slopes = torch.cat([probe.slopes, *((one - said)[:, :, None] / STEP for one in after)], 2)
        shift = shift.reshape(len(z), 1, free, *(1,) * (probe.slopes.ndim - 3))
        return probe.defect - (probe.slopes * shift).sum(2) - said, slopes

    def _residuals(self, z: Tensor) -> Tensor:
        """The residual (1 + Z, B, M, S, *g) for each choice of z (1 + Z, B, Z), in the defect's units."""
        eps = z.new_zeros(1, self.probe.slopes.shape[2]).expand(len(self.state), -1)
        latents = Latents(eps, z.flatten(0, 1)).over(self.state.shape[1])
        learned = self.dynamics.said(self.state, self.time, latents, self.inputs, self.known)
        parts = self.dynamics.composed(self.known, learned)
        return parts.residual.unflatten(0, (len(z), -1)) / self.unit


@dataclass(frozen=True)
class _Normal:
    """Least squares over all points seen, in units of the noise; a field counts as one point a frame."""

    seen: Tensor
    weight: Tensor

    @staticmethod
    def of(probe: Probe) -> _Normal:
        count = probe.seen.flatten(1).sum(1, dtype=torch.float64).clamp_min(1)
        return _Normal(probe.seen, (probe.seen.shape[1] / (NOISE**2 * count))[:, None, None])

    def equations(self, slopes: Tensor, wrong: Tensor) -> tuple[Tensor, Tensor]:
        """J'J (B, K, K) and J'd (B, K)."""
        rows = (slopes * self.seen[:, :, None]).movedim(2, 1).flatten(2).double()
        aim = (wrong * self.seen).flatten(1).double()
        weighed = rows * self.weight
        return weighed @ rows.mT, (weighed @ aim[..., None])[..., 0]
