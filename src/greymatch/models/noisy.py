"""The posterior of one noisy window: the path through it that the learned field can have, and where that path ends.

Gauss-Newton in theta, z and the path's start begins at what matching found; the forecast starts from the path's end,
not from the last observation. Training needs none of this.
"""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.models.dynamics import Dynamics
from greymatch.models.laplace import Laplace, cost_of, root_of, swept, typical
from greymatch.models.motion import Motion
from greymatch.models.shooting import Shooting
from greymatch.simulation.start import Start

STEPS = 2  # over a window's usual spacing
SWEEPS = 6
ROOM = 3.0  # how far off the smoothed start may be, in its own standard deviations
STENCIL = 5
EXPLAINED = 1.0  # median misfit, in units of the noise, of a path that is one: 0.67 is that of noise alone


class Followed(NamedTuple):
    """The law of latents, of which windows (B,) a path tells it, and where paths end, if the law does not say."""

    law: Laplace
    sound: Tensor
    start: Start | None = None


def shot(dynamics: Dynamics, scales: Scales, window: Window, noise: Tensor, told: Laplace) -> Followed:
    """The law of latents and of the path's end, begun at what was `told` of the latents, with `noise` (S,).

    Where no path explains the window but for noise, that stands, with the end that smoothing shows: Gauss-Newton gets
    lost where a path depends too sharply on its start.
    """
    shooting = _through(dynamics, scales, window, noise)
    guess = shooting.guess(told.mean)
    best, least = guess, guess.latents.new_full((len(guess.latents),), torch.inf)
    for _ in range(SWEEPS):
        path = shooting.path(guess)
        wrong, slopes = shooting.misfit(path)
        unknown = shooting.unknown(guess)
        cost = cost_of(wrong.abs() + path.bend[:, None], unknown).nan_to_num(torch.inf)
        best, least = guess.where(cost < least, best), torch.minimum(cost, least)
        guess = shooting.after(guess, path, swept(wrong, slopes, unknown)[1])
    path = shooting.path(best)
    wrong, slopes = shooting.misfit(path)
    root = root_of(swept(wrong, slopes, shooting.unknown(best))[0])
    end, moves = shooting.end(path)
    left = typical(wrong, window.mask.flatten(1)).to(told.misfit)
    mean, root = torch.cat([best.latents, end], 1), torch.cat([root[:, : best.latents.shape[1]], moves @ root], 1)
    law = Laplace(mean, root, left, told.free, shooting.starts)
    sound = (left < EXPLAINED) & (path.bend < EXPLAINED) & law.finite
    return Followed(law.where(sound, told.starting(Start.of(window, dynamics.physics.order))), sound)


def _through(dynamics: Dynamics, scales: Scales, window: Window, noise: Tensor) -> Shooting:
    """From about the smoothed start."""
    assert window.smooth is not None, "only noisy windows have been smoothed"
    order = dynamics.physics.order
    spread = window.smooth.covariance.diagonal(dim1=-2, dim2=-1)[..., :order].sqrt()
    reach, phases = ROOM * torch.cat(spread.unbind(-1), 1), Motion.of(window, STENCIL).phase(order)
    precise = deepcopy(dynamics).double()
    return Shooting.of(precise, scales, window, noise.expand(len(phases), -1), phases, reach, STEPS)
