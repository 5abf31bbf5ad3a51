"""The posterior of one window without noise, to the last digits: the path of the learned field that goes through it.

Finite differences of samples err, at a window's ends and across gaps most, and parameters with them; a velocity that a
forecast starts with does, too. A field that is right has a path through all points. So from what matching found,
Gauss-Newton goes on in theta, z and the start of such a path, each time in units of what was left unexplained: first in
few steps, and where that comes near, in many. What is then left tells whether a path goes through the window: if not,
the answer of matching stands. A field is asked so at validation and after; no step of training needs it.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.models.dynamics import Dynamics
from greymatch.models.laplace import Laplace, Point, linearised_at_once, nowhere, root_of, swept
from greymatch.models.motion import Motion
from greymatch.models.shooting import Shooting

HOPEFUL = 0.03  # misfit relative to a window's spread, of a path that is worth a search,
NEAR, THROUGH = 1e-3, 1e-5  # that is worth more steps, and that goes through
STEPS = {2: NEAR, 8: THROUGH}  # over a window's usual spacing, and how near they must bring a path
SWEEPS, FIRST, GAIN = 10, 3, 0.9  # of Gauss-Newton; after the first few, each must leave less than so much
STENCIL = 7
NUDGE = 1e-5  # in double: slopes are those of the path itself, as far as it is to be followed
ROOM = 0.1  # how far off a start may be, in spreads of the data
MOST = 0.9  # of what is seen of each state must be as near
OVER = 1.5  # numbers that must be seen for each that is to be found


def traced(
    dynamics: Dynamics, scales: Scales, window: Window, amplitude: Tensor, told: Laplace
) -> tuple[Laplace, Tensor]:
    """The law of latents and, but for fields, of the path's end, begun at what was `told` of the latents; and how near
    the path comes that goes through each window (B,), inf where none does. What was told of those stands.

    Errors are measured by the `amplitude` (B, S) of the window, relative to the data's spread.
    """
    dynamics, grid = deepcopy(dynamics).double(), bool(dynamics.physics.grid)
    law = told if grid else told.unstarted(len(dynamics.physics.phase))
    rows = _enough(window, law.mean.shape[1], dynamics.physics.order).nonzero()[:, 0]
    at, left = told.mean[rows].double(), told.misfit.new_full((len(told.mean),), torch.inf)
    for steps, near in STEPS.items():
        if not len(rows):
            break
        shooting = _through(dynamics, scales, window.select(rows), amplitude[rows].double(), steps)
        best = _closest(shooting, at if at.shape[1] == law.mean.shape[1] else shooting.begun(at))
        close = best.cost < near
        rows, best, at = rows[close], best.select(close), best.at[close]
        if steps == max(STEPS) and len(rows):
            shooting, left[rows] = shooting.select(close.nonzero()[:, 0]), best.cost.to(left)
            law = law.put(rows, _law(best, told.select(rows)) if grid else _with_end(shooting, best, told.select(rows)))
    return law, left


def _enough(window: Window, unknown: int, order: int) -> Tensor:
    """Which windows (B,) show so much more than is to be found that a path through them is no accident."""
    each = window.mask.movedim(2, 1).flatten(2).sum(2)
    return (each.sum(1) >= OVER * unknown) & (each > order).all(1) & window.times.isfinite().all(1)


def _through(dynamics: Dynamics, scales: Scales, window: Window, amplitude: Tensor, steps: int) -> Shooting:
    """From about the first point; of a field at it, since every pixel would be a number to find."""
    order = dynamics.physics.order
    first = Motion.of(window, STENCIL).phase(order)[:, 0].double()
    reach = None if dynamics.physics.grid else (ROOM * scales.phase(order)[1]).expand_as(first)
    return Shooting.of(dynamics, scales, window, scales.spread * amplitude, first, reach, steps)


def _closest(shooting: Shooting, at: Tensor) -> Point:
    """The path that comes closest to each window, and how close that is; each window is asked as long as it gains.

    One path costs a fraction of what its slopes do, and tells for which windows there is no hope.
    """
    best, going = nowhere(at), (_left(shooting.misfit(at), shooting.window) < HOPEFUL).nonzero()[:, 0]
    for sweep in range(1, SWEEPS + 1):
        if not len(going):
            break
        some, here = shooting.select(going), at[going]
        wrong, slopes = linearised_at_once(some.misfit, here, NUDGE)
        left = _left(wrong, some.window)
        unit = left.clamp_min(THROUGH)[:, None]
        square, step = swept(wrong / unit, slopes / unit[..., None], here)
        found = Point(here, left.where(square.isfinite().all(-1).all(-1), torch.inf), square)
        before = best.select(going)
        best = best.put(going, before.better(found))
        at = at.index_put((going,), here + step)
        going = going[(found.cost < GAIN * before.cost) | (sweep < FIRST)]
    return best


def _left(wrong: Tensor, window: Window) -> Tensor:
    """Below what most misfits of the state are (B,) that is explained worst."""
    each, seen = (part.movedim(2, 1).flatten(2) for part in (wrong.reshape(window.values.shape), window.mask))
    ranked = each.abs().nan_to_num(torch.inf).masked_fill(~seen, torch.inf).sort(2).values
    last = (MOST * seen.sum(2, keepdim=True)).ceil().long().clamp_min(1) - 1
    return ranked.gather(2, last)[..., 0].amax(1)


def _law(best: Point, told: Laplace) -> Laplace:
    return Laplace(best.at.to(told.mean), root_of(best.precision).to(told.root), told.misfit, told.free)


def _with_end(shooting: Shooting, best: Point, told: Laplace) -> Laplace:
    """With the path's end; states that are seen there are as they are seen, and no number of the law."""
    phases, seen = shooting.phases, shooting.window.mask[:, -1]
    end, slopes = linearised_at_once(shooting.ends, best.at, NUDGE)
    seen = torch.nn.functional.pad(seen, (0, phases - seen.shape[1]))
    end, slopes = end.masked_fill(seen, torch.nan), slopes.mT.masked_fill(seen[..., None], 0.0)
    root = root_of(best.precision)
    mean, root = torch.cat([best.at[:, :-phases], end], 1), torch.cat([root[:, :-phases], slopes @ root], 1)
    return Laplace(mean.to(told.mean), root.to(told.root), told.misfit, told.free, phases)
