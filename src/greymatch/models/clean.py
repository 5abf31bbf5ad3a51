"""The posterior of one window without noise, to the last digits: the path of the learned field that goes through it.

Finite differences of samples err, at a window's ends and across gaps most, and parameters with them; a velocity that a
forecast starts with does, too. A field that is right has a path through all points. So where matching has come close,
Gauss-Newton goes on in theta, z and the start of that path, each time in units of what was left unexplained. What then
is still unexplained tells whether there is such a path: if not, the answer of matching stands. Training needs none of
this.
"""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.models.dynamics import Dynamics
from greymatch.models.laplace import Laplace, Point, linearised_at_once, nowhere, root_of, swept, typical
from greymatch.models.motion import Motion
from greymatch.models.shooting import Shooting
from greymatch.simulation.start import Start

STEPS = 4  # over a window's usual spacing
SWEEPS, GAIN = 6, 0.9  # of Gauss-Newton, and what the last one must leave less of for another
STENCIL = 7
ROOM = 0.1  # how far off a start may be, in spreads of the data
ROUNDING = 1e-6  # of single precision after many steps, relative to a window's spread: no path is closer
THROUGH = 1e-5  # the same of a path that goes through a window


def traced(dynamics: Dynamics, scales: Scales, window: Window, amplitude: Tensor, told: Laplace) -> Laplace:
    """The law of latents and, but for fields, of the path's end, begun at what was `told` of the latents.

    Errors are measured by the `amplitude` (B, S) of the window, relative to the data's spread. Where no path goes
    through a window, what was told stands.
    """
    shooting = _through(dynamics, scales, window, amplitude)
    at = shooting.begun(told.mean)
    best = nowhere(at)
    for _ in range(SWEEPS):
        before = best.cost
        wrong, bent = linearised_at_once(shooting.misfit, at)
        left = typical(wrong, window.mask.flatten(1))
        unit = left.clamp_min(1.0)[:, None]
        square, step = swept(wrong / unit, bent / unit[..., None], at)
        best = best.better(Point(at, left.where(square.isfinite().all(-1).all(-1), torch.inf), square))
        at = at + step
        if not bool((best.cost < GAIN * before).any()):
            break
    law = _with_end(shooting, best, told) if shooting.phases else _alone(best, told)
    sound = (ROUNDING * best.cost < THROUGH) & law.finite
    return law.where(sound, told.starting(Start.of(window, dynamics.physics.order)) if shooting.phases else told)


def _through(dynamics: Dynamics, scales: Scales, window: Window, amplitude: Tensor) -> Shooting:
    """From about the first point; of a field at it, since every pixel would be a number to find."""
    order = dynamics.physics.order
    first = Motion.of(window, STENCIL).phase(order)[:, 0]
    reach = None if dynamics.physics.grid else (ROOM * scales.phase(order)[1]).expand_as(first)
    return Shooting.of(dynamics, scales, window, ROUNDING * scales.spread * amplitude, first, reach, STEPS)


def _alone(best: Point, told: Laplace) -> Laplace:
    return Laplace(best.at, root_of(best.precision).to(told.root), told.misfit, told.free)


def _with_end(shooting: Shooting, best: Point, told: Laplace) -> Laplace:
    """With the path's end; states that are seen there are what they are."""
    phases, (values, seen) = shooting.phases, (part[:, -1] for part in (shooting.window.values, shooting.window.mask))
    end, slopes = linearised_at_once(shooting.ends, best.at)
    slopes = slopes.mT
    states = values.shape[1]
    end[:, :states] = torch.where(seen, values.to(end), end[:, :states])
    slopes[:, :states] = slopes[:, :states].masked_fill(seen[..., None], 0.0)
    root = root_of(best.precision)
    root = torch.cat([root[:, :-phases], slopes @ root], 1).to(told.root)
    return Laplace(torch.cat([best.at[:, :-phases], end.to(best.at)], 1), root, told.misfit, told.free, phases)
