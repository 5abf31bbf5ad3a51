"""The posterior of one noisy window: the path through it that the learned field can have, and where that path ends.

Gauss-Newton in theta, z and the path's start begins at what matching found; the forecast starts from the path's end,
not from the last observation. Training needs none of this.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.models.dynamics import Dynamics
from greymatch.models.laplace import Laplace, descended, linearised_at_once, root_of, typical
from greymatch.models.motion import Motion
from greymatch.models.shooting import Shooting
from greymatch.simulation.start import Start

STEPS = 2  # over a window's usual spacing
SWEEPS = 6
ROOM = 3.0  # how far off the smoothed start may be, in its own standard deviations
STENCIL = 5
EXPLAINED = 1.0  # median misfit, in units of the noise, of a path that is one: 0.67 is that of noise alone


def shot(dynamics: Dynamics, scales: Scales, window: Window, noise: Tensor, told: Laplace) -> Laplace:
    """The law of latents and of the path's end, begun at what was `told` of the latents, with `noise` (S,).

    Where no path explains the window but for noise, that stands, with the end that smoothing shows: Gauss-Newton gets
    lost where a path depends too sharply on its start.
    """
    shooting = _through(dynamics, scales, window, noise)
    phases = shooting.phases
    best = descended(partial(linearised_at_once, shooting.misfit), shooting.begun(told.mean), SWEEPS)
    end, slopes = linearised_at_once(shooting.ends, best.at)
    root = root_of(best.precision)
    root = torch.cat([root[:, :-phases], slopes.mT @ root], 1).to(told.root)
    left = typical(shooting.misfit(best.at), window.mask.flatten(1))
    law = Laplace(torch.cat([best.at[:, :-phases], end.to(best.at)], 1), root, left, told.free, phases)
    sound = (left < EXPLAINED) & law.finite
    return law.where(sound, told.starting(Start.of(window, dynamics.physics.order)))


def _through(dynamics: Dynamics, scales: Scales, window: Window, noise: Tensor) -> Shooting:
    """From about the smoothed start."""
    order = dynamics.physics.order
    assert window.smooth is not None, "only noisy windows have been smoothed"
    spread = window.smooth.covariance.diagonal(dim1=-2, dim2=-1)[..., :order].sqrt()
    first = Motion.of(window, STENCIL).phase(order)[:, 0]
    reach = ROOM * torch.cat(spread.unbind(-1), 1).float()
    return Shooting.of(dynamics, scales, window, noise.expand(len(first), -1), first, reach, STEPS)
