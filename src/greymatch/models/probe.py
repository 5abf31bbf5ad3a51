"""A few points of the window at which the learned residual is held against what the physics leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.models.motion import Motion
from greymatch.models.pixels import at_pixels, some_pixels
from greymatch.models.regression import Linearised
from greymatch.physics.physics import Physics

PIXELS = 32  # of a field, the same ones for every window


@dataclass(frozen=True)
class Probe:
    """Where the residual is asked, and what it should say there, in units of the data.

    `time` (B, M), `phase` (B, M, order*S, *g), `inputs` (B, M, U) or None, all as scaled as the nets see them; `known`
    (B, M, S, *g) is the physics at the window's own parameters, `defect` what it leaves open there and `slopes`
    (B, M, L, S, *g) how that changes with the standardised parameters, all relative to the window's amplitude too.
    g is () or (pixels, 1...).
    """

    time: Tensor
    phase: Tensor
    known: Tensor
    defect: Tensor
    slopes: Tensor
    seen: Tensor
    inputs: Tensor | None

    @staticmethod
    def of(motion: Motion, found: Linearised, amplitude: Tensor, scales: Scales, order: int, points: int) -> Probe:
        """`points` frames of each window; their number must not depend on its length."""
        frames, grid = _frames(motion, points), motion.values.shape[3:]
        pixels = some_pixels(grid, PIXELS, motion.values.device) if grid else None

        def picked(field: Tensor) -> Tensor:
            field = field[:, frames]
            return field if pixels is None else at_pixels(field, pixels, len(grid))

        per = motion.per_channel
        center, spread = scales.phase(order)
        return Probe(
            time=((motion.times[:, frames] - scales.time_center) / scales.time_spread).float(),
            phase=picked((motion.phase(order) - per(center)) / per(spread)),
            known=picked(motion.top(order) / per(scales.top(order) * amplitude) - found.defect),
            defect=picked(found.defect),
            slopes=picked(found.slopes.movedim(-1, 2)),
            seen=picked(motion.seen),
            inputs=None if motion.inputs is None else scales.of_inputs(motion.inputs[:, frames]),
        )

    def packed(self) -> Tensor:
        """All of it as one tensor (B, M, K, *g), which travels with the features."""
        grid = self.phase.shape[3:]
        scalars = [self.time[..., None], *([] if self.inputs is None else [self.inputs])]
        spread = [part.reshape(*part.shape, *(1,) * len(grid)).expand(*part.shape, *grid) for part in scalars]
        return torch.cat([self.phase, self.known, self.defect, self.seen, self.slopes.flatten(2, 3), *spread], 2)

    @staticmethod
    def unpacked(packed: Tensor, physics: Physics) -> Probe:
        states, free, driven = len(physics.states), len(physics.free), len(physics.inputs)
        sizes = [len(physics.phase), states, states, states, free * states, 1, driven]
        phase, known, defect, seen, slopes, time, inputs = packed.split(sizes, 2)
        anywhere = (slice(None),) * 3 + (0,) * (packed.ndim - 3)
        return Probe(
            time=time[anywhere][..., 0],
            phase=phase,
            known=known,
            defect=defect,
            slopes=slopes.unflatten(2, (free, states)),
            seen=seen,
            inputs=inputs[anywhere] if driven else None,
        )


def probe_points(length: int, field: bool) -> int:
    """The most frames a window of `length` points offers: of a field its later half, whose stencils are sounder."""
    return length - length // 2 if field else length


def _frames(motion: Motion, points: int) -> Tensor:
    """Points of the window, evenly up to its last."""
    length = motion.times.shape[1]
    first = length - probe_points(length, motion.values.ndim > 3)
    return torch.linspace(first, length - 1, points, device=motion.times.device).round().long()
