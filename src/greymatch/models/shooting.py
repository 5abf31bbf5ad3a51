"""The posterior of one noisy window: the path through it that the learned field can have, and where that path ends.

Where noise is known to lie on the observations, derivatives are a poor witness. What the window shows is then

    x_j = X(t_j; theta, z, a) + n_j,    n_j ~ Cauchy(0, noise^2),

with X the solution of the field from the phase a at the window's first point on. Gauss-Newton in theta, z and a begins
at what matching found; the forecast starts from the path's end, not from the last observation. Training needs none of
this.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.matching.stencils import window_derivatives
from greymatch.models.dynamics import Dynamics
from greymatch.models.laplace import Laplace, Search, descended, linearised_at_once, root_of, typical
from greymatch.models.latents import Latents
from greymatch.models.motion import Motion
from greymatch.simulation.start import Start
from greymatch.simulation.unroll import stage_times, unroll

SUBSTEPS = 2
ROOM = 3.0  # how far off the smoothed start may be, in its own standard deviations
FARTHEST = 100.0  # spreads of the data from its centre, where the field is held: a path must stay finite
STENCIL = 5
EXPLAINED = 1.0  # median misfit, in units of the noise, of a path that is one: 0.67 is that of noise alone


@dataclass(frozen=True)
class Shooting:
    """Windows to be shot through: from phases about `first` (B, P), within `reach` (B, P), at `stages` (B, M) with
    `inputs` (B, M, U) or None. `center` and `unit` (P,) are the data's."""

    dynamics: Dynamics
    window: Window
    noise: Tensor
    first: Tensor
    reach: Tensor
    stages: Tensor
    inputs: Tensor | None
    center: Tensor
    unit: Tensor

    @staticmethod
    def of(dynamics: Dynamics, scales: Scales, window: Window, noise: Tensor) -> Shooting:
        order = dynamics.physics.order
        assert window.smooth is not None, "only noisy windows are shot through"
        spread = window.smooth.covariance.diagonal(dim1=-2, dim2=-1)[..., :order].sqrt()
        center, unit = scales.phase(order)
        return Shooting(
            dynamics=dynamics,
            window=window,
            noise=noise,
            first=Motion.of(window, STENCIL).phase(order)[:, 0],
            reach=ROOM * torch.cat(spread.unbind(-1), 1).float(),
            stages=stage_times(window.times[:, 0], window.times[:, 1:], SUBSTEPS),
            inputs=_inputs(window),
            center=center,
            unit=unit,
        )

    def paths(self, unknown: Tensor) -> Tensor:
        """Phases (n * B, W, P) along the windows from latents and starts (n * B, K + P), in units of the reach.

        Rows are n answers for each window, all windows by all windows.
        """
        phases = self.first.shape[1]
        free, rows = len(self.dynamics.physics.free), self._rows(unknown)
        latents = self.dynamics.pushed(Latents(unknown[:, :free], unknown[:, free:-phases]))
        start = (self.first[rows] + self.reach[rows] * unknown[:, -phases:] - self.center) / self.unit
        stages = self.stages[rows]
        origin = stages[:, 0]

        def field(since: Tensor, state: Tensor, u: Tensor | None) -> Tensor:
            phase = self.center + state.clamp(-FARTHEST, FARTHEST) * self.unit
            return self.dynamics.velocity(origin + since, phase, latents, u) / self.unit

        since = (stages - origin[:, None]).float()
        after = unroll(field, start, since, SUBSTEPS, None if self.inputs is None else self.inputs[rows])
        return self.center + torch.cat([start[:, None], after], 1) * self.unit

    def misfit(self, unknown: Tensor) -> Tensor:
        """What the paths leave unexplained (n * B, W * S), in units of the noise."""
        rows = self._rows(unknown)
        values = self.window.values[rows]
        wrong = (self.paths(unknown)[:, :, : values.shape[2]] - values.float()) / self.noise
        return wrong.masked_fill(~self.window.mask[rows], 0.0).flatten(1)

    def ends(self, unknown: Tensor) -> Tensor:
        return self.paths(unknown)[:, -1]

    def _rows(self, unknown: Tensor) -> Tensor:
        return torch.arange(len(unknown), device=unknown.device) % len(self.first)


def shot(shooting: Shooting, told: Laplace, search: Search) -> Laplace:
    """The law of latents and of the path's end, begun at what was `told` of the latents.

    Where no path explains the window but for noise, that stands, with the end that smoothing shows: Gauss-Newton gets
    lost where a path depends too sharply on its start.
    """
    count, phases = shooting.first.shape
    begin = torch.cat([told.mean, told.mean.new_zeros(count, phases)], 1)
    best = descended(partial(linearised_at_once, shooting.misfit), begin, search.sweeps)
    end, slopes = linearised_at_once(shooting.ends, best.at)
    root = root_of(best.precision)
    root = torch.cat([root[:, :-phases], slopes.mT @ root], 1).to(told.root)
    left = typical(shooting.misfit(best.at), shooting.window.mask.flatten(1))
    law = Laplace(torch.cat([best.at[:, :-phases], end.to(best.at)], 1), root, left, told.free, phases)
    sound = (left < EXPLAINED) & law.mean.isfinite().all(1) & root.flatten(1).isfinite().all(1)
    return law.where(sound, told.starting(Start.of(shooting.window, shooting.dynamics.physics.order)))


def _inputs(window: Window) -> Tensor | None:
    """Inputs (B, M, U) at the stages, by cubic Hermite polynomials between the window's points."""
    if window.inputs is None:
        return None
    since = window.times - window.end[:, None]
    (slopes,) = window_derivatives(since, window.inputs.to(since), points=STENCIL, order=1)
    here, after = window.inputs[:, :-1, None], window.inputs[:, 1:, None]
    rise, fall = ((part * since.diff(dim=1)[..., None])[:, :, None] for part in (slopes[:, :-1], slopes[:, 1:]))
    s = torch.arange(2 * SUBSTEPS, device=since.device)[:, None] / (2 * SUBSTEPS)
    bent = s * (1 - s) * ((1 - s) * rise - s * fall + (2 * s - 1) * (after - here))
    inner = here + s * (after - here) + bent
    return torch.cat([inner.flatten(1, 2), window.inputs[:, -1:]], 1).float()
