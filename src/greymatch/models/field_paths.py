"""The posterior of one noisy window of a field: the path through it that begins where all of its frames say.

A field has too many cells for the slopes of a path by where it starts, but a path is told by its first frame y and the
latents l alone, and how frames X move with y can be asked forwards and, by automatic differentiation, backwards. So

    sum_j |X_j(l, y) - x_j|^2 / noise^2  +  |l|^2

is made least by Gauss-Newton, whose steps of both are found by conjugate gradients: few, since fields that spread out
forget their small waves. (Weather forecasting knows this as 4D-Var.) Last, the first frame is projected out in the same
way, and the law of the latents is left. White noise is each cell's own, so all cells count in full.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.matching.path import widen
from greymatch.models.dynamics import Dynamics
from greymatch.models.flow import Flow
from greymatch.models.laplace import LONGEST_STEP, Laplace, root_of, typical
from greymatch.models.latents import Latents
from greymatch.models.motion import Motion
from greymatch.models.noisy import EXPLAINED, STENCIL, STEPS, Followed
from greymatch.models.shooting import FARTHEST
from greymatch.models.steps import Steps
from greymatch.simulation.sixth import PARTS, SHARES, STAGES, WEIGHTS
from greymatch.simulation.start import Start

SWEEPS, SMALL = 6, 0.1  # of Gauss-Newton, and a gain, in squares of standard deviations, after which none is left
LESS = (1.0, 0.3, 0.1)  # of a step
INNER = 16  # steps of conjugate gradients at most
SOLVED, TOLD = 0.05, 0.03  # what is left of a side where a sweep's step, and the law of the latents, are known
OF_LATENTS, OF_FRAMES = 0.01, 0.1  # how far each is moved to see what frames do: in prior standard deviations, in noise
RIDGE = 1e-3  # of an observation: it holds what no frame tells of the first one


def followed(dynamics: Dynamics, scales: Scales, window: Window, noise: Tensor, told: Laplace) -> Followed:
    """Begun at what was `told`, with `noise` (S,). Of windows that no path explains but for noise, what was told
    stands, with the end that smoothing shows."""
    field = _Field.of(deepcopy(dynamics).requires_grad_(False), scales, window, noise)
    best = _Near.of(field, told.mean.float(), field.first)
    for _ in range(SWEEPS):
        before, best = best, best.onward()
        if bool((before.cost - best.cost < SMALL).all()):
            break
    left = typical(best.wrong.flatten(1), window.mask.flatten(1)).to(told.misfit)
    law = Laplace(best.latents, root_of(best.precision()).float(), left, told.free)
    smoothed = Start.of(window, dynamics.physics.order)
    sound = (left < EXPLAINED) & law.finite
    return Followed(law.where(sound, told), sound, field.ending(best.frames[:, -1], smoothed, sound))


@dataclass(frozen=True)
class _Field:
    """Windows to be followed from their `first` frame (B, P, *grid) on, in units of the data, which are from `center`
    in `unit`. Of what is to be found of it, `reach` (B, P, *ones) is one; misfits weigh `weight` (B, W, S, *grid)."""

    dynamics: Dynamics
    window: Window
    steps: Steps
    first: Tensor
    reach: Tensor
    weight: Tensor
    center: Tensor
    unit: Tensor

    @staticmethod
    def of(dynamics: Dynamics, scales: Scales, window: Window, noise: Tensor) -> _Field:
        order, states = dynamics.physics.order, window.values.shape[2]
        phase = Motion.of(window, STENCIL).phase(order)[:, 0].float()
        center, unit = (widen(part, phase[0]).float() for part in scales.phase(order))
        size = widen(noise[None].float(), phase)  # of states; a velocity is told by two frames
        usual = window.times.diff(dim=1).median(1).values.float()
        reach = torch.cat([size.expand(len(phase), *size.shape[1:])] + [size / widen(usual, phase)] * (order - 1), 1)
        weight = window.mask * (unit[:states] / size[0])
        return _Field(
            dynamics, window, Steps.of(window, STEPS), (phase - center) / unit, reach / unit, weight, center, unit
        )

    @property
    def seen(self) -> Tensor:
        """What was observed (B, W, S, *grid), in units of the data."""
        states = self.window.values.shape[2]
        values = self.window.values.float().masked_fill(~self.window.mask, 0.0)
        return (values - self.center[:states]) / self.unit[:states]

    def frames(self, latents: Tensor, first: Tensor) -> Tensor:
        """(n * B, W, P, *grid) from latents (n * B, K) and first frames (n * B, P, *grid)."""
        many, free = len(first) // len(self.first), len(self.dynamics.physics.free)
        flow = Flow.of(self.dynamics, Latents(latents[:, :free], latents[:, free:]))
        stages, inputs = self.steps.stages.repeat(many, 1, 1), self.steps.inputs
        inputs = None if inputs is None else inputs.to(first).repeat(many, 1, 1, 1)
        found = [first]
        for place in range(stages.shape[1]):
            driven = None if inputs is None else inputs[:, place]
            found.append(_flown(flow, stages[:, place], found[-1], driven))
        return torch.stack(found, 1)

    def ending(self, last: Tensor, smoothed: Start, sound: Tensor) -> Start:
        """Where forecasts start: of each state that was seen, all frames tell as much of its long waves."""
        root, states = smoothed.root, self.window.values.shape[2]
        assert root is not None, "only noisy windows have been smoothed"
        phase = torch.where(widen(sound, last), self.center + last * self.unit, smoothed.phase.to(last))
        if phase.shape[1] > states:
            return Start(phase, smoothed.time, root)
        size = 1 / (self.weight / self.unit).square().sum(1).sqrt()
        told = torch.where(size.isfinite(), size, root[..., 0, 0].to(size))[..., None, None]
        return Start(phase, smoothed.time, torch.where(widen(sound, told), told, root.to(told)))


def _flown(flow: Flow, clock: Tensor, state: Tensor, inputs: Tensor | None) -> Tensor:
    """Over one interval: as `sixth.stepped`, whose memory is used again and again, but open to differentiation."""
    count = (clock.shape[1] - 1) // PARTS
    step = widen(((clock[:, -1] - clock[:, 0]) / count).to(state), state)
    for begin in range(0, PARTS * count, PARTS):
        slopes: list[Tensor] = []
        for part, shares in zip(STAGES, SHARES, strict=True):
            here = state + step * _sum(shares, slopes) if shares else state
            u = None if inputs is None else inputs[:, begin + part]
            slopes.append(flow(clock[:, begin + part], here.clamp(-FARTHEST, FARTHEST), u))
        state = state + step * _sum(WEIGHTS, slopes)
    return state


def _sum(shares: tuple[float, ...], slopes: list[Tensor]) -> Tensor:
    first, *others = ((share, slope) for share, slope in zip(shares, slopes, strict=True) if share)
    total = first[0] * first[1]
    for share, slope in others:
        total = torch.add(total, slope, alpha=share)
    return total


@dataclass(frozen=True)
class _Near:
    """Paths of `latents` (B, K) and `first` frames, with the frames (B, W, P, *grid) that they lead to, what these are
    `wrong` by (B, W, S, *grid) in units of the noise, and the `cost` (B,) of both."""

    field: _Field
    latents: Tensor
    first: Tensor
    frames: Tensor
    wrong: Tensor
    cost: Tensor

    @staticmethod
    def of(field: _Field, latents: Tensor, first: Tensor) -> _Near:
        frames = field.frames(latents, first)
        wrong = _misfit(field, frames) - field.weight * field.seen
        cost = wrong.square().flatten(1).sum(1) + latents.square().sum(1)
        return _Near(field, latents, first, frames, wrong, cost.nan_to_num(torch.inf, torch.inf))

    def better(self, other: _Near) -> _Near:
        """Of two the one that costs less, for each window."""
        less = other.cost < self.cost
        names = ("latents", "first", "frames", "wrong", "cost")
        pairs = ((getattr(self, name), getattr(other, name)) for name in names)
        return _Near(self.field, *(torch.where(widen(less, old), new, old) for old, new in pairs))

    def onward(self) -> _Near:
        """By a step of Gauss-Newton in both; by less where a path bends away from it."""
        step, best = self._step(), self
        for share in LESS:
            tried = _Near.of(self.field, self.latents - share * step.latents, self.first - share * step.first)
            best = best.better(tried)
            if bool((best.cost < self.cost).all()):
                break
        return best

    def _step(self) -> _Way:
        slopes, told = self._slopes(), self._told(1)
        size = (slopes.square().flatten(2).sum(2).T + 1).rsqrt()  # (B, K): so steep are the latents

        def squared(way: _Way) -> _Way:
            latents = way.latents * size
            misfit = self._forwards(told, way.first[None])[0] + torch.einsum("bk,kb...->b...", latents, slopes)
            return sides(misfit, latents, RIDGE * way.first)

        def sides(misfit: Tensor, latents: Tensor, first: Tensor | float = 0.0) -> _Way:
            pulled = torch.einsum("kb...,b...->bk", slopes, misfit) + latents
            return _Way(pulled * size, self._backwards(told, misfit[None])[0] + first)

        step = _solved(squared, sides(self.wrong, self.latents), SOLVED)
        latents = (step.latents * size).nan_to_num(0.0).clamp(-LONGEST_STEP, LONGEST_STEP)
        return _Way(latents, step.first.nan_to_num(0.0) * self.field.reach)

    def precision(self) -> Tensor:
        """Of the latents (B, K, K), where the first frame is whatever suits them."""
        slopes = self._slopes()
        square = torch.eye(len(slopes), dtype=torch.float64, device=slopes.device).repeat(slopes.shape[1], 1, 1)
        moving = slopes.flatten(1).any(1).nonzero()[:, 0]  # z that no law has moves nothing
        if not len(moving):
            return square
        slopes, told = slopes[moving], self._told(len(moving))
        sides = self._backwards(told, slopes)
        flat = _Way(sides.new_zeros(slopes.shape[0] * slopes.shape[1], 0), sides.flatten(0, 1))

        def squared(way: _Way) -> _Way:
            first = way.first.unflatten(0, sides.shape[:2])
            seen = self._backwards(told, self._forwards(told, first)) + RIDGE * first
            return way._replace(first=seen.flatten(0, 1))

        moves = _solved(squared, flat, TOLD).first.unflatten(0, sides.shape[:2])
        slopes, sides, moves = (part.flatten(2).double() for part in (slopes, sides, moves))
        inner = torch.einsum("kbn,lbn->bkl", slopes, slopes) - torch.einsum("kbn,lbn->bkl", sides, moves)
        square[:, moving[:, None], moving] += (inner + inner.mT) / 2
        return square

    def _slopes(self) -> Tensor:
        """How what is wrong moves with each of the latents (K, B, W, S, *grid)."""
        count = self.latents.shape[1]
        moves = OF_LATENTS * torch.eye(count).to(self.latents)
        frames = self._repeated(self.latents + moves[:, None], self.first.expand(count, *self.first.shape))
        return (_misfit(self.field, frames) - _misfit(self.field, self.frames)) / OF_LATENTS

    def _repeated(self, latents: Tensor, first: Tensor) -> Tensor:
        """Frames (C, B, ...) of latents and first frames (C, B, ...)."""
        return self.field.frames(latents.flatten(0, 1), first.flatten(0, 1)).unflatten(0, first.shape[:2])

    def _told(self, count: int) -> Told:
        """Misfits (C, B, W, S, *grid) of as many copies of the first frame, open to differentiation."""
        with torch.enable_grad():
            first = self.first.expand(count, *self.first.shape).clone().requires_grad_()
            frames = self._repeated(self.latents.expand(count, *self.latents.shape), first)
            return Told(first, _misfit(self.field, frames))

    def _backwards(self, told: Told, columns: Tensor) -> Tensor:
        """What misfits (C, B, W, S, *grid) say of first frames (C, B, P, *grid)."""
        return torch.autograd.grad(told.misfit, told.first, columns, retain_graph=True)[0] * self.field.reach

    def _forwards(self, told: Told, moves: Tensor) -> Tensor:
        """How misfits move with first frames (C, B, P, *grid)."""
        size = OF_FRAMES / _inner(moves, moves).div(moves[0, 0].numel()).sqrt().clamp_min(1e-30)
        first = self.first + size * self.field.reach * moves
        frames = self._repeated(self.latents.expand(len(moves), *self.latents.shape), first)
        return (_misfit(self.field, frames) - told.misfit.detach()) / widen(size[:, :, 0, 0], told.misfit)


class _Way(NamedTuple):
    """Of latents (B, K) and first frames (B, P, *grid)."""

    latents: Tensor
    first: Tensor

    def dot(self, other: _Way) -> Tensor:
        """(B,)"""
        return (self.latents * other.latents).sum(1) + (self.first * other.first).flatten(1).sum(1)

    def plus(self, other: _Way, share: Tensor) -> _Way:
        return _Way(self.latents + share[:, None] * other.latents, self.first + widen(share, self.first) * other.first)


def _solved(squared: Callable[[_Way], _Way], side: _Way, enough: float) -> _Way:
    """Conjugate gradients, for each window by itself, until so much of each `side` is left."""
    found, rest = _Way(torch.zeros_like(side.latents), torch.zeros_like(side.first)), side
    way, size = rest, rest.dot(rest)
    least = enough**2 * size
    for _ in range(INNER):
        if bool((size <= least).all()):
            break
        turned = squared(way)
        part = (size / way.dot(turned)).nan_to_num(0.0, 0.0, 0.0)
        found, rest = found.plus(way, part), rest.plus(turned, -part)
        after = rest.dot(rest)
        way, size = rest.plus(way, (after / size).nan_to_num(0.0, 0.0, 0.0)), after
    return found


class Told(NamedTuple):
    """First frames, and the misfits that follow from them."""

    first: Tensor
    misfit: Tensor


def _misfit(field: _Field, frames: Tensor) -> Tensor:
    """Frames (..., W, P, *grid) in units of the noise, where something was seen."""
    states, axes = field.window.values.shape[2], len(field.dynamics.physics.grid)
    return frames.narrow(-1 - axes, 0, states) * field.weight


def _inner(one: Tensor, other: Tensor) -> Tensor:
    """(C, B, *ones) of (C, B, ...)."""
    return widen((one * other).flatten(2).sum(2), one)
