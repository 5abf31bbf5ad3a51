"""Hints for the encoder: Gauss-Newton on the window in theta and z, through the residual as learned so far.

The normal equations of the physics know nothing of z. Once the residual r(x | z) has a form, the z that explains
a window solves least squares too:

    defect ~ J (s - s0) + r(x | z),    s, z ~ N(0, 1).

The answer and its precision are features for the encoder; no gradient passes through them.
"""

from __future__ import annotations

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
    for _ in range(SWEEPS):
        wrong, slopes = _linearised(dynamics, probe, amplitude, found)
        square, side = _normal(slopes, wrong, probe.seen)
        square = square + torch.eye(free + latents, device=square.device, dtype=square.dtype)
        step = torch.linalg.solve_ex(square, (side - origin - found)[..., None])[0][..., 0].to(start.dtype)
        found = (origin + found + step.nan_to_num(0.0)).clamp(-FARTHEST, FARTHEST) - origin
        precision = square.diagonal(dim1=-2, dim2=-1).log().to(start.dtype)
        misfit = (wrong.square() * probe.seen).flatten(1).mean(1, keepdim=True)
    return torch.cat([origin + found, LOGARITHM * precision, LOGARITHM * (misfit + 1e-8).log()], 1)


def _linearised(dynamics: Dynamics, probe: Probe, amplitude: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """What is left unexplained (B, M, S, *g) and its slopes (B, M, L + Z, S, *g)."""
    free = probe.slopes.shape[2]
    shift, z = found.split([free, found.shape[1] - free], 1)
    moves = torch.cat([torch.zeros_like(z)[None], STEP * _each_way(z)])
    said = _residuals(dynamics, probe, amplitude, z + moves)
    by_z = [(after - said[0]) / STEP for after in said[1:]]
    slopes = torch.cat([probe.slopes, *(one[:, :, None] for one in by_z)], 2)
    axes = probe.defect.ndim - 3
    moved = (probe.slopes * shift[:, None, :, None].reshape(len(z), 1, free, 1, *(1,) * axes)).sum(2)
    return probe.defect - moved - said[0], slopes


def _each_way(z: Tensor) -> Tensor:
    """(Z, B, Z): one unit along each latent."""
    return torch.eye(z.shape[1], device=z.device, dtype=z.dtype)[:, None].expand(-1, len(z), -1)


def _residuals(dynamics: Dynamics, probe: Probe, amplitude: Tensor, z: Tensor) -> Tensor:
    """The residual (N, B, M, S, *g) for each of N choices of z (N, B, Z), in the defect's units."""
    copies, points = len(z), probe.time.shape[1]
    eps = z.new_zeros(copies * z.shape[1], probe.slopes.shape[2])
    latents = Latents(eps, z.flatten(0, 1)).over(points)

    def many(part: Tensor) -> Tensor:
        return part.repeat(copies, *(1,) * (part.ndim - 1))

    axes = (1,) * (probe.defect.ndim - 3)
    unit = (dynamics.scales_top * amplitude).reshape(len(amplitude), 1, -1, *axes)
    center, spread = (part.reshape(-1, *axes) for part in (dynamics.scales_center, dynamics.scales_spread))
    driven = probe.inputs
    if driven is not None:
        driven = many(dynamics.scales_input_center + driven * dynamics.scales_input_spread)
    time = dynamics.scales_time_center + probe.time.double() * dynamics.scales_time_spread
    parts = dynamics.completed(
        many(time), many(center + probe.phase * spread), latents, driven, many(probe.known * unit)
    )
    return parts.residual.unflatten(0, (copies, -1)) / unit


def _normal(slopes: Tensor, wrong: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """J'J (B, K, K) and J'd (B, K) of all points seen, in units of the noise; a field counts as one point a frame."""
    rows = (slopes * seen[:, :, None]).movedim(2, 1).flatten(2).double()
    aim = (wrong * seen).flatten(1).double()
    weight = slopes.shape[1] / (NOISE**2 * seen.flatten(1).sum(1).clamp_min(1))
    return (rows @ rows.mT) * weight[:, None, None], (rows @ aim[..., None])[..., 0] * weight[:, None]
