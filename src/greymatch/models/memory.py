"""The last observations of each state: what stands for the encoder where the history itself is the input."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.models.features import Features
from greymatch.simulation.start import last_points


@dataclass(frozen=True)
class Memory:
    """The last H observations of each state, oldest first: `values` and `ages` (B, H, S, *grid), `inputs` (B, H, U).

    Values and inputs are in units of their own spread, ages in typical steps before the memory's end; an age of
    infinity stands where a state has fewer observations. Inputs are those at the last H points of the window.
    """

    values: Tensor
    ages: Tensor
    inputs: Tensor

    @staticmethod
    def of(window: Window, points: int, scales: Scales) -> Memory:
        """The end of a window, which may be shorter than the memory."""
        axes = window.values.ndim - 3
        times, values = last_points(window.smoothed(), points)
        center, spread = (part.double().reshape(-1, *(1,) * axes) for part in (scales.center, scales.spread))
        from_end = torch.arange(times.shape[1], 0, -1, device=times.device).reshape(1, -1, *(1,) * (values.ndim - 2))
        never = from_end > window.mask.sum(1, keepdim=True)
        ages = (window.end.reshape(-1, *(1,) * (times.ndim - 1)) - times) / scales.step
        ages = ages.masked_fill(never, torch.inf)
        seen = ((values.double() - center) / spread).masked_fill(never, 0.0)
        inputs = window.times.new_zeros(*window.times.shape, 0) if window.inputs is None else window.inputs
        return Memory(seen.float(), ages.float(), scales.of_inputs(inputs[:, -points:].float())).padded(points)

    def padded(self, points: int) -> Memory:
        """With observations that are not there put before the oldest, up to `points`; inputs hold their first."""
        missing = points - self.values.shape[1]
        if not missing:
            return self
        blank = self.values[:, :1].repeat_interleave(missing, 1)
        never, held = torch.full_like(blank, torch.inf), self.inputs[:, :1].repeat_interleave(missing, 1)
        return Memory(
            torch.cat([torch.zeros_like(blank), self.values], 1),
            torch.cat([never, self.ages], 1),
            torch.cat([held, self.inputs], 1),
        )

    @property
    def last(self) -> Tensor:
        """The newest value of each state (B, S, *grid), where the next interval starts."""
        return self.values[:, -1]

    def shifted(self, value: Tensor, steps: Tensor, inputs: Tensor) -> Memory:
        """One observation later: `value` (B, S, *grid) and `inputs` (B, U), `steps` (B,) typical steps on."""
        older = self.ages[:, 1:] + steps.to(self.ages).reshape(-1, *(1,) * (self.ages.ndim - 1))
        return Memory(
            torch.cat([self.values[:, 1:], value[:, None]], 1),
            torch.cat([older, torch.zeros_like(value[:, None])], 1),
            torch.cat([self.inputs[:, 1:], inputs[:, None]], 1),
        )

    def __len__(self) -> int:
        return len(self.values)

    def repeated(self, draws: int) -> Memory:
        return self.select(torch.arange(len(self), device=self.values.device).repeat(draws)) if draws > 1 else self

    def select(self, members: Tensor) -> Memory:
        return Memory(self.values[members], self.ages[members], self.inputs[members])

    def features(self) -> Features:
        """Packed as an encoder's features are, so that windows are gathered and kept alike."""
        axes, states = self.values.ndim - 3, self.values.shape[2]
        inputs = self.inputs.reshape(*self.inputs.shape, *(1,) * axes).expand(-1, -1, -1, *self.values.shape[3:])
        ages = self.ages.nan_to_num(posinf=-1.0)  # no observation has a negative age
        blank = self.values.new_zeros(len(self.values), 0)
        amplitude = self.values.new_ones(len(self.values), states)
        return Features(torch.cat([self.values, ages, inputs], 2), blank, amplitude, blank, blank)

    @staticmethod
    def unpacked(features: Features) -> Memory:
        states = features.amplitude.shape[1]
        values, ages, inputs = features.sequence.split([states, states, features.sequence.shape[2] - 2 * states], 2)
        once = inputs.flatten(3)[..., 0] if inputs.ndim > 3 else inputs
        return Memory(values, ages.masked_fill(ages < 0, torch.inf), once)
