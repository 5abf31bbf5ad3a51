"""The posterior of one window without noise, to the last digits: the path of the learned field that goes through it.

Finite differences of samples err, at a window's ends and across gaps most, and parameters with them; a velocity that a
forecast starts with does, too. A field that is right has a path through all points. So from what matching found,
Gauss-Newton goes on in theta, z and the start of such a path, each time in units of what was left unexplained: first in
few steps, and where that comes near, in many. What is then left tells whether a path goes through the window: if not,
the answer of matching stands. A field is asked so at validation and after; no step of training needs it.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.matching.path import widen
from greymatch.models.dynamics import Dynamics
from greymatch.models.erring import Left, alike
from greymatch.models.laplace import Laplace, root_of, swept
from greymatch.models.motion import Motion
from greymatch.models.shooting import Guess, Path, Shooting
from greymatch.simulation.sixth import ORDER

FAINT, HOPEFUL = 0.3, 0.03  # misfit relative to a window's spread, of a path that is worth a step, a search,
NEAR, THROUGH = 1e-3, 1e-5  # that is worth more steps, and that goes through
STEPS = {2: NEAR, 12: THROUGH}  # over a window's usual spacing, and how near they must bring a path
FIELD_STEPS = {2: NEAR, 6: THROUGH}
SWEEPS, FIRST, GAIN = 10, 6, 0.9  # of Gauss-Newton; near a path, or after the first few, each must leave so much less
ENOUGH = 1e-9  # so near, what one more step leaves is nothing, and that step is taken without following its path
LEARNING = 2  # sweeps, after which it is known how the path of a field moves; with more steps one tells it anew
STENCIL = 7
ROOM = 0.1  # how far off a start may be, in spreads of the data
MOST = 0.9  # of what is seen of each state must be as near
ROUNDING = 1e-14  # relative to a window's spread: less is not told
TURNS = 3  # in which errors, and what is likeliest with them, are found
OVER = 1.5  # numbers that must be seen for each that is to be found


def traced(
    dynamics: Dynamics, scales: Scales, window: Window, amplitude: Tensor, told: Laplace, coarseness: int = 1
) -> tuple[Laplace, Tensor]:
    """The law of latents and, but for fields, of the path's end, begun at what was `told` of the latents; and how near
    the path comes that goes through each window (B,), inf where none does. What was told of those stands.

    Errors are measured by the `amplitude` (B, S) of the window, relative to the data's spread. With more `coarseness`
    than 1, a path has so many times fewer steps: its error, and what may be left, grow with the sixth power.
    """
    grid = bool(dynamics.physics.grid)
    usual = FIELD_STEPS if grid else STEPS
    steps = {each: near * coarseness**ORDER for each, near in usual.items()}
    law = (told if grid else told.unstarted(len(dynamics.physics.phase))).double()
    left = told.misfit.new_full((len(told.mean),), torch.inf)
    found = paths(dynamics, scales, window, amplitude, told, steps, coarseness)
    if found is not None:
        own, sound = _law(found, told.select(found.rows))
        rows = found.rows[sound]
        law, left[rows] = law.put(rows, own.select(sound)), found.closest.cost[sound].to(left)
    return law, left


@dataclass(frozen=True)
class Paths:
    """The `closest` paths through some windows, `rows` of all that were asked."""

    rows: Tensor
    shooting: Shooting
    closest: Closest


def paths(
    dynamics: Dynamics,
    scales: Scales,
    window: Window,
    amplitude: Tensor,
    told: Laplace,
    steps: dict[int, float] | None = None,
    coarseness: int = 1,
) -> Paths | None:
    """As near as they must come, see `STEPS`; None if no window has one."""
    physics, precise, found = dynamics.physics, deepcopy(dynamics).double(), None
    unknown = told.mean.shape[1] + (0 if physics.grid else len(physics.phase))
    rows = _enough(window, unknown, physics.order).nonzero()[:, 0]
    for each, near in (steps or (FIELD_STEPS if physics.grid else STEPS)).items():
        if not len(rows):
            return None
        shooting = _through(precise, scales, window.select(rows), amplitude[rows], each, coarseness)
        guess, learning = (found.closest.guess, 1) if found else (shooting.guess(told.mean[rows]), LEARNING)
        best = _closest(shooting, guess, near, learning)
        close = (best.cost < near).nonzero()[:, 0]
        rows = rows[close]
        found = Paths(rows, shooting.select(close), best.select(close))
    return found if len(rows) else None


def _enough(window: Window, unknown: int, order: int) -> Tensor:
    """Which windows (B,) show so much more than is to be found that a path through them is no accident."""
    each = window.mask.movedim(2, 1).flatten(2).sum(2)
    return (each.sum(1) >= OVER * unknown) & (each > order).all(1) & window.times.isfinite().all(1)


def _through(
    dynamics: Dynamics, scales: Scales, window: Window, amplitude: Tensor, steps: int, coarseness: int
) -> Shooting:
    """From about the first point; of a field at it, since every pixel would be a number to find."""
    order = dynamics.physics.order
    phases, (_, spread) = Motion.of(window, STENCIL).phase(order), scales.phase(order)
    reach = None if dynamics.physics.grid else (ROOM * spread).expand_as(phases[:, 0])
    return Shooting.of(dynamics, scales, window, scales.spread * amplitude, phases, reach, steps, coarseness)


@dataclass(frozen=True)
class Closest:
    """The closest `path` to each window, of a `guess`, its `cost` (B,) which is how close it is, and the `step`
    (B, K + P) that is sure to bring it closer still."""

    guess: Guess
    path: Path
    cost: Tensor
    step: Tensor

    def select(self, rows: Tensor) -> Closest:
        return Closest(self.guess.select(rows), self.path.select(rows), self.cost[rows], self.step[rows])

    def better(self, rows: Tensor, other: Closest) -> Closest:
        """With those of `rows` that cost less: what is not a number never does."""
        less = other.cost < self.cost[rows]
        rows, other = rows[less], other.select(less)
        guess, path = self.guess.put(rows, other.guess), self.path.put(rows, other.path)
        return Closest(guess, path, self.cost.index_put((rows,), other.cost), self.step.index_put((rows,), other.step))


def _closest(shooting: Shooting, guess: Guess, near: float, learning: int) -> Closest:
    """Each window is asked as long as it gains, or is not yet `near` a path, if there is hope for it. After so many
    sweeps of `learning` it is known how paths of fields move."""
    best, going = None, torch.arange(len(guess.latents), device=guess.latents.device)
    for sweep in range(1, SWEEPS + 1):
        path = shooting.path(guess)
        wrong, slopes = shooting.misfit(path)
        left = _left(wrong, shooting.window)
        cost = left + path.bend
        unit = cost.clamp_min(ROUNDING)[:, None]
        # what is left on the way is no noise, for which the prior would pull parameters away from what data tell
        weight, prior = shared_weight(shooting.window) / unit, (THROUGH / unit).clamp_max(1.0)
        here = shooting.unknown(guess)
        square, step = swept(wrong * weight, slopes * weight[..., None], here, prior)
        cost = cost.where(square.isfinite().all(-1).all(-1), torch.inf).nan_to_num(torch.inf, torch.inf)
        sure = step * (cost <= ENOUGH)[:, None]  # farther off, what a step promises it may not keep
        found = Closest(replace(guess, moves=None), path, cost, sure)
        gained = cost < GAIN * (best.cost[going] if best else torch.inf)
        best = best.better(going, found) if best else found
        goes_on = (left < (FAINT if sweep == 1 else HOPEFUL)) & (gained | ((cost > near) & (sweep < FIRST)))
        goes_on &= cost > ENOUGH
        if not bool(goes_on.any()):
            break
        known = shooting.experienced(guess, path) if sweep >= learning else guess
        guess = shooting.after(known, path, step).select(goes_on)
        going, shooting = going[goes_on], shooting.select(goes_on)
    assert best is not None, "there is a first sweep"
    return best


def shared_weight(window: Window) -> float:
    """What misfits weigh: neighbours on a grid err together, so evidence grows with the root of its cells."""
    return window.values.shape[3:].numel() ** -0.25


def _told(found: Paths) -> tuple[Tensor, Tensor]:
    """The precision of the law, and the step to where it is likeliest, where what is left is all error."""
    closest, shooting = found.closest, found.shooting
    wrong, slopes = shooting.misfit(closest.path)
    left = alike(shooting, closest.path, Left(wrong + (closest.step[:, None] @ slopes)[:, 0], slopes))
    step, here, precision = closest.step, shooting.unknown(closest.guess) + closest.step, slopes
    for _ in range(TURNS):
        weight = shared_weight(shooting.window) / _error(left.wrong, shooting.window, slopes.shape[1])
        precision, last = swept(left.wrong * weight, left.slopes * weight[:, None], here)
        left = left._replace(wrong=left.wrong + (last[:, None] @ left.slopes)[:, 0])
        step, here = step + last, here + last
    return precision, step


def _error(left: Tensor, window: Window, unknown: int) -> Tensor:
    """The standard deviations (B, N) of what is seen, by what so many numbers of each window that were found leave of
    its state; as these may have made it small, so many more are taken to err as those of the worst state do. Of few
    that are left over it is as much larger as Student's law is wider than a normal one."""
    each = window.mask.movedim(2, 1).flatten(2).sum(2).to(left)
    seen = each.sum(1)
    spare = (seen - unknown).clamp_min(1)
    ranked, last = _ranked(left, window)
    level = (last[..., 0] + 0.5) / each.clamp_min(1)
    usual = ranked.gather(2, last)[..., 0] / torch.special.ndtri((1 + level) / 2)
    usual = usual.where(each > 0, 0.0)
    worst = usual.amax(1, keepdim=True)
    own = ((each * usual.square() + unknown * worst.square()) / (each + unknown)).sqrt()
    wider = (seen / spare).sqrt() * (1 + 0.926 / spare + 0.863 / spare.square())
    error = (own * wider[:, None]).clamp_min(ROUNDING)[:, None]
    return widen(error, window.values).expand(window.values.shape).flatten(1)


def _left(wrong: Tensor, window: Window) -> Tensor:
    """Below what most misfits of the state are (B,) that is explained worst."""
    ranked, last = _ranked(wrong, window)
    return ranked.gather(2, last)[..., 0].amax(1)


def _ranked(wrong: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """The sizes of misfits (B, S, n) of each state in their order, and the place (B, S, 1) of the last that counts."""
    each, seen = (part.movedim(2, 1).flatten(2) for part in (wrong.reshape(window.values.shape), window.mask))
    ranked = each.abs().nan_to_num(torch.inf).masked_fill(~seen, torch.inf).sort(2).values
    return ranked, (MOST * seen.sum(2, keepdim=True)).ceil().long().clamp_min(1) - 1


def _law(found: Paths, told: Laplace) -> tuple[Laplace, Tensor]:
    """With the path's end, but for fields, and of which windows (B,) it can be told. States that are seen at the end
    are as they are seen, and no number of the law. The last step is taken here, too: those before it gave the prior
    less weight, of which `Laplace.released` would not know."""
    closest, mask, starts = found.closest, found.shooting.window.mask, found.shooting.starts
    precision, step = _told(found)
    mean, root = closest.guess.latents, root_of(precision)
    mean = mean + step[:, : mean.shape[1]]
    sound = mean.isfinite().all(1)
    if starts:
        seen = torch.nn.functional.pad(mask[:, -1], (0, starts - mask.shape[2]))
        end, moves = found.shooting.end(closest.path)
        sound = sound & end.isfinite().all(1) & moves.flatten(1).isfinite().all(1)
        end = end + (moves @ step[..., None])[..., 0]
        end, moves = end.masked_fill(seen, torch.nan), moves.masked_fill(seen[..., None], 0.0)
        mean, root = torch.cat([mean, end], 1), torch.cat([root[:, :-starts], moves @ root], 1)
    return Laplace(mean, root, told.misfit, told.free, starts), sound
