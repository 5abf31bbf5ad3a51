"""What the encoder sees of a window: scaled values, derivatives, and the normal equations of the physics."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.models.motion import Motion
from greymatch.models.probe import Probe
from greymatch.models.regression import Regression, squash
from greymatch.physics.physics import Physics


class Features(NamedTuple):
    """`sequence` (B, W, C, *grid) along the window, `summary` (B, K), `amplitude` (B, S) relative to the data.

    `start` (B, L) are standardised parameters that suit the window, `probe` (a packed `Probe`) what they leave open.
    """

    sequence: Tensor
    summary: Tensor
    amplitude: Tensor
    start: Tensor
    probe: Tensor

    @staticmethod
    def measured(amplitude: Tensor) -> Features:
        """Those of windows that nobody will encode: how large they are, and nothing else."""
        nothing = amplitude[:, :0]
        return Features(nothing, nothing, amplitude, nothing, nothing)

    def seen(self, states: int) -> Tensor:
        """Which values (B, W, S, *grid) were observed, as 0 or 1."""
        return self.sequence[:, :, 2 * states : 3 * states]

    def padded(self, length: int) -> Features:
        """The sequence with zeros before it, up to `length` points; its mask channels then say "not seen"."""
        missing = length - self.sequence.shape[1]
        if not missing:
            return self
        blank = self.sequence.new_zeros(len(self.sequence), missing, *self.sequence.shape[2:])
        return self._replace(sequence=torch.cat([blank, self.sequence], 1))


def window_features(
    physics: Physics, window: Window, scales: Scales, stencil: int, amplitude_floor: float, probes: int = 16
) -> Features:
    """Features that do not change when the units of the data do."""
    motion = Motion.of(window, stencil)
    mean, amplitude = _mean_and_amplitude(motion.values, scales, amplitude_floor)
    defect, facts, found = Regression(physics, motion, amplitude, scales).solve()
    columns = [*_along(motion, mean, amplitude, scales, physics.order), squash(defect)]
    summary = [amplitude.log(), squash((mean - scales.center) / scales.spread), *facts]
    probe = Probe.of(motion, found, amplitude, scales, physics.order, probes)
    return Features(torch.cat(columns, 2), torch.cat(summary, -1), amplitude, found.at, probe.packed())


def _along(motion: Motion, mean: Tensor, amplitude: Tensor, scales: Scales, order: int) -> list[Tensor]:
    """Channels (B, W, C, *grid) along the window, in units of the data and of the window's own amplitude."""
    per = motion.per_channel
    columns = [
        (motion.values - per(mean)) / per(scales.spread * amplitude),
        motion.first / per(scales.velocity * amplitude),
        motion.seen,
    ]
    columns += [motion.second / per(scales.acceleration * amplitude)] * (order == 2)
    if motion.inputs is not None:
        columns.append(motion.over_grid(scales.of_inputs(motion.inputs)))
    clock = motion.since / (scales.step * motion.since.shape[1])
    return [*columns, motion.over_grid(clock[..., None])]


def _mean_and_amplitude(values: Tensor, scales: Scales, floor: float) -> tuple[Tensor, Tensor]:
    """Mean over the window (B, S) and its spread relative to the data's, never below `floor`."""
    flat = values.movedim(2, 1).flatten(2)
    spread = flat.std(-1, unbiased=False) / scales.spread
    return flat.mean(-1), (spread.square() + floor**2).sqrt()
