"""Windows solved through: the paths that the learned field can have there, from latents and where they start.

Derivatives are a poor witness where there is noise, and never an exact one. What a window shows is also

    x_j = X(t_j; theta, z, a) + n_j,    n_j ~ Cauchy(0, noise^2),

with X the solution of the field from the phase a at the window's first point on: see `noisy` and `clean`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.matching.path import widen
from greymatch.models.dynamics import Dynamics
from greymatch.models.latents import Latents
from greymatch.models.steps import Steps
from greymatch.simulation.unroll import unroll

FARTHEST = 100.0  # spreads of the data from its centre, where the field is held: a path must stay finite


@dataclass(frozen=True)
class Shooting:
    """Windows to be shot through, in `steps`, with `inputs` (B, M, U) at their stages or None.

    Phases start about `first` (B, P, *grid), within `reach` (B, P); at it, if that is None. Misfits are in units of the
    `noise` (B, S). `center` and `unit` (P,) are the data's.
    """

    dynamics: Dynamics
    window: Window
    noise: Tensor
    first: Tensor
    reach: Tensor | None
    steps: Steps
    inputs: Tensor | None
    center: Tensor
    unit: Tensor

    @staticmethod
    def of(
        dynamics: Dynamics,
        scales: Scales,
        window: Window,
        noise: Tensor,
        first: Tensor,
        reach: Tensor | None,
        each: int,
    ) -> Shooting:
        """With `each` steps over a window's usual spacing."""
        steps = Steps.of(window.times, each)
        center, unit = (widen(part, first[0]).to(first) for part in scales.phase(dynamics.physics.order))
        inputs = steps.inputs(window)
        inputs = None if inputs is None else inputs.to(first)
        return Shooting(dynamics, window, noise, first, reach, steps, inputs, center, unit)

    @property
    def phases(self) -> int:
        """How many numbers of a start are to be found."""
        return 0 if self.reach is None else self.reach.shape[1]

    def select(self, rows: Tensor) -> Shooting:
        reach, inputs = (None if part is None else part[rows] for part in (self.reach, self.inputs))
        steps, window = self.steps.select(rows), self.window.select(rows)
        return replace(
            self,
            window=window,
            noise=self.noise[rows],
            first=self.first[rows],
            reach=reach,
            steps=steps,
            inputs=inputs,
        )

    def begun(self, latents: Tensor) -> Tensor:
        """Latents (B, K) with the usual start beside them (B, K + P)."""
        return torch.nn.functional.pad(latents, (0, self.phases))

    def paths(self, unknown: Tensor) -> Tensor:
        """Phases (n * B, W, P, *grid) along the windows from latents and starts (n * B, K + P), in units of the reach.

        Rows are n answers for each window, all windows by all windows.
        """
        free, rows = len(self.dynamics.physics.free), self._rows(unknown)
        latents = self.dynamics.pushed(Latents(unknown[:, :free], unknown[:, free : unknown.shape[1] - self.phases]))
        start, steps = (self._start(unknown, rows) - self.center) / self.unit, self.steps.select(rows)
        origin = steps.stages[:, 0]

        def field(since: Tensor, state: Tensor, u: Tensor | None) -> Tensor:
            phase = self.center + state.clamp(-FARTHEST, FARTHEST) * self.unit
            return self.dynamics.velocity(origin + since, phase, latents, u) / self.unit

        since = (steps.stages - origin[:, None]).to(start)
        after = unroll(field, start, since, inputs=None if self.inputs is None else self.inputs[rows])
        return self.center + steps.reached(torch.cat([start[:, None], after], 1)) * self.unit

    def misfit(self, unknown: Tensor) -> Tensor:
        """What the paths leave unexplained (n * B, W * S * grid), in units of the noise."""
        rows = self._rows(unknown)
        values = self.window.values[rows]
        wrong = self.paths(unknown)[:, :, : values.shape[2]] - values.to(self.first)
        return (wrong / widen(self.noise[rows][:, None], wrong)).masked_fill(~self.window.mask[rows], 0.0).flatten(1)

    def ends(self, unknown: Tensor) -> Tensor:
        return self.paths(unknown)[:, -1]

    def _start(self, unknown: Tensor, rows: Tensor) -> Tensor:
        if self.reach is None:
            return self.first[rows]
        return self.first[rows] + self.reach[rows] * unknown[:, -self.phases :]

    def _rows(self, unknown: Tensor) -> Tensor:
        return torch.arange(len(unknown), device=unknown.device) % len(self.first)
