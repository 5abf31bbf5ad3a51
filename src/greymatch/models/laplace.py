"""The posterior of one window through the learned field: Gauss-Newton, and the normal law around its answer.

The encoder answers for all windows at once; one that is unlike those it learned from it may get wrong, and not know.
Here a window is asked itself, from the encoder's answer on and from the prior's mean:

    y_i = f(x_i, theta) o r(x_i | z) + e_i,    eps, z ~ N(0, 1),    e_i ~ Cauchy(0, noise^2 + doubt_i^2),

with the derivatives y_i that the window shows. This is matching again, now in theta and z: no solver is needed. Errors
have heavy tails because those of a learned field do: it is good where it has seen much and poor where it has not.
Small ones weigh as those of a normal law with that variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from greymatch.models.dynamics import Dynamics
from greymatch.models.evidence import FEWEST_POINTS, Evidence
from greymatch.models.latents import Encoded, Latents, mirrored
from greymatch.models.pixels import at_pixels, some_pixels
from greymatch.simulation.start import Start

PIXELS = 256  # of a field
LEAST_NOISE = 1e-3  # relative error of a derivative, as far as a learned field is trusted
EXACT = 1e-5  # the same of physics that leave nothing to learn
LONGEST_STEP, NUDGE = 1.0, 0.01  # in standard deviations of the prior
FEW = 2**13  # derivatives, of which slopes by all latents are taken at once: one question takes as long as five


@dataclass(frozen=True)
class Search:
    """How hard a window is asked: `sweeps` of Gauss-Newton from what is told and, if `anew`, from the prior's mean."""

    sweeps: int = 6
    anew: bool = True


THOROUGH = Search(sweeps=8)  # with less, parameters far from their prior's middle are not reached to the last digits
TO_THE_END = Search(sweeps=12)  # where nothing else errs, every digit of the answer counts


@dataclass(frozen=True)
class Laplace:
    """A normal law of eps and z together: `mean` (B, K) and `root` (B, K, K), whose square is the covariance.

    In double where a path tells it: such answers err by less than single precision tells apart. The last `phases` of
    the K, if there are any, are the phase at the window's end, in the units of the data; NaN where observations tell
    it.

    `misfit` (B,) tells how badly the field explains the window even so, in units of the error that it should have:
    the median over the window's points. NaN where the window was not asked.
    """

    mean: Tensor
    root: Tensor
    misfit: Tensor
    free: int
    phases: int = 0

    def latents(self) -> Latents:
        return self._split(self.mean)

    @property
    def spread(self) -> Tensor:
        """Standard deviations (B, free) of the parameters."""
        return self.root[:, : self.free].square().sum(2).sqrt()

    @property
    def finite(self) -> Tensor:
        """Of which windows (B,) all numbers are."""
        return self.mean.isfinite().all(1) & self.root.flatten(1).isfinite().all(1)

    def sample(self, draws: int, generator: torch.Generator | None, widening: Tensor | float = 1.0) -> Latents:
        """Draws (draws * B), draw after draw, from the law that is `widened`."""
        noise = mirrored(draws, self.mean, generator)[..., None]
        return self._split((self.mean + (self.widened(widening).root @ noise)[..., 0]).flatten(0, 1))

    def widened(self, factor: Tensor | float) -> Laplace:
        """With standard deviations times `factor`, as far as data made them small: none exceeds the prior's.

        Of the precision 1 + D, which the prior and the data make, D is divided by the factor's square.
        """
        excess = torch.as_tensor(factor, dtype=torch.float64, device=self.root.device).square() - 1
        root = self.root.double()
        of_latents = root[:, : root.shape[1] - self.phases]  # a start has no prior
        identity = torch.eye(root.shape[2], dtype=root.dtype, device=root.device)
        narrowing = root_of(identity + excess * of_latents.mT @ of_latents)
        return replace(self, root=((1 + excess).sqrt() * root @ narrowing).to(self.root))

    def released(self, factor: Tensor) -> Tensor:
        """How far the parameters (B, free) move, in double, if standard deviations are to be times `factor` (free,).

        The prior holds m by a force that goes with the certainty E + D that was claimed. If data tell D / f^2,

            m' = m + (1 - f^2) (f^2 E + D)^-1 E m,    E = 1 for latents, 0 for a start,

        but no farther than the standard deviation that was claimed.
        """
        root = self.root.double()
        covariance = root @ root.mT
        size = root.shape[1]
        prior = torch.diag((torch.arange(size, device=root.device) < size - self.phases).to(root))
        slack = (1 - factor.double().square())[:, None, None, None]
        force = slack * (prior @ self.mean.double().nan_to_num(0.0)[..., None])
        identity = torch.eye(size, dtype=root.dtype, device=root.device)
        moves = torch.linalg.solve_ex(identity - slack * (covariance @ prior), covariance @ force)[0][..., 0]
        own = torch.stack([moves[index, :, index] for index in range(self.free)], 1)
        return own.nan_to_num(0.0).clamp(-self.spread.double(), self.spread.double())

    def double(self) -> Laplace:
        return replace(self, mean=self.mean.double(), root=self.root.double())

    def select(self, rows: Tensor) -> Laplace:
        return replace(self, mean=self.mean[rows], root=self.root[rows], misfit=self.misfit[rows])

    def put(self, rows: Tensor, other: Laplace) -> Laplace:
        """This law with that of `rows` (n,) replaced by the other's."""
        mean, root, misfit = self.mean.clone(), self.root.clone(), self.misfit.clone()
        mean[rows], root[rows], misfit[rows] = other.mean, other.root, other.misfit
        return replace(self, mean=mean, root=root, misfit=misfit)

    def starting(self, start: Start) -> Laplace:
        """This law with the start that smoothing gives beside it, of which the latents know nothing."""
        assert start.root is not None, "a start without noise has no law"
        count, size, phases = *self.mean.shape, start.phase.shape[1]
        apart = torch.eye(start.root.shape[1]).to(start.root)
        spread = torch.einsum("bsij,st->bisjt", start.root, apart).reshape(count, phases, -1)
        root = torch.nn.functional.pad(self.root, (0, phases, 0, phases))
        root[:, size:, size:] = spread.to(root)
        return Laplace(torch.cat([self.mean, start.phase.to(self.mean)], 1), root, self.misfit, self.free, phases)

    def unstarted(self, phases: int) -> Laplace:
        """This law with a start beside it that observations tell."""
        mean = torch.nn.functional.pad(self.mean, (0, phases), value=torch.nan)
        return replace(self, mean=mean, root=torch.nn.functional.pad(self.root, (0, phases, 0, phases)), phases=phases)

    def startless(self) -> Laplace:
        """This law of the latents alone."""
        size = self.mean.shape[1] - self.phases
        root = torch.linalg.qr(self.root[:, :size].mT).R.mT  # of as many columns
        return replace(self, mean=self.mean[:, :size], root=root, phases=0)

    def _split(self, values: Tensor) -> Latents:
        if not self.phases:
            return Latents(values[:, : self.free], values[:, self.free :])
        return Latents(values[:, : self.free], values[:, self.free : -self.phases], start=values[:, -self.phases :])

    @staticmethod
    def of(encoded: Encoded) -> Laplace:
        """The encoder's own law about its means."""
        latents = encoded.latents
        spread = torch.cat([encoded.eps.log_std, encoded.z.log_std], 1).exp()
        mean = torch.cat([latents.eps, latents.z], 1)
        return Laplace(mean, torch.diag_embed(spread), mean.new_full((len(mean),), torch.nan), latents.eps.shape[1])

    def where(self, sound: Tensor, other: Laplace) -> Laplace:
        """This law of windows that are `sound` (B,), of others the other one."""
        mean = torch.where(sound[:, None], self.mean, other.mean)
        root = torch.where(sound[:, None, None], self.root, other.root)
        return replace(self, mean=mean, root=root, misfit=torch.where(sound, self.misfit, other.misfit))

    @staticmethod
    def joined(parts: list[Laplace]) -> Laplace:
        means, roots, misfits = zip(*((part.mean, part.root, part.misfit) for part in parts), strict=True)
        return replace(parts[0], mean=torch.cat(means), root=torch.cat(roots), misfit=torch.cat(misfits))


def laplace(
    dynamics: Dynamics, evidence: Evidence, told: Laplace, unit: Tensor, noise: Tensor, search: Search = THOROUGH
) -> Laplace:
    """Of each window; `told` is the encoder's answer, which stands where a window shows too little.

    `noise` (S,) is the error of the field in `unit` (B, S) of its derivative.
    """
    free, axes, begin = told.free, evidence.top.ndim - 3, told.mean.to(evidence.top)
    pixels = _pixels(dynamics, evidence)

    def seen(field: Tensor) -> Tensor:
        return field if pixels is None else at_pixels(field, pixels, axes)

    trusted = (noise.square() + (LEAST_NOISE if bool(dynamics.open.any()) else EXACT) ** 2).sqrt()
    weight = seen(_weight(evidence, unit * trusted, pixels))
    copies = 1 + told.mean.shape[1] if weight.numel() <= FEW else 1
    shown, weights = _copied(evidence, copies), weight.repeat(copies, *(1,) * (weight.ndim - 1))
    state, top = seen(dynamics.visible(shown.phase)), seen(shown.top)

    def misfit(latents: Tensor) -> Tensor:
        """Of windows (B,) in turn, one latent after another, as often as there are copies or less."""
        some = slice(len(latents))
        times, inputs = shown.times[some], None if shown.inputs is None else shown.inputs[some]
        law = dynamics.pushed(Latents(latents[:, :free], latents[:, free:])).over(times.shape[1])
        known = seen(dynamics.known(times, shown.phase[some], law, inputs))
        learned = dynamics.said(state[some], times, law, inputs, known)
        return ((dynamics.composed(known, learned).total - top[some]) * weights[some]).flatten(1)

    slopes = partial(linearised, misfit, at_once=copies)
    best = descended(slopes, begin, search.sweeps)
    if search.anew:
        best = best.better(descended(slopes, torch.zeros_like(begin), search.sweeps))
    left = typical(misfit(best.at), weight.flatten(1) > 0)
    own = Laplace(best.at, root_of(best.precision).to(best.at.dtype), left, free)
    return own.where((evidence.points >= FEWEST_POINTS) & best.cost.isfinite(), told)


@dataclass(frozen=True)
class Point:
    """A place in the latents (B, K), its cost (B,) and the precision (B, K, K) of the normal law around it."""

    at: Tensor
    cost: Tensor
    precision: Tensor

    def better(self, other: Point) -> Point:
        """Of two the one that costs less, for each window; what is not a number is never less."""
        less = other.cost < self.cost
        return Point(
            torch.where(less[:, None], other.at, self.at),
            torch.where(less, other.cost, self.cost),
            torch.where(less[:, None, None], other.precision, self.precision),
        )


def descended(linear: Callable[[Tensor], tuple[Tensor, Tensor]], start: Tensor, sweeps: int) -> Point:
    """The best point on the way of Gauss-Newton, by the misfit and its slopes that `linear` gives of a point.

    What is left is not convex, so where it starts matters.
    """
    identity = torch.eye(start.shape[1], dtype=torch.float64, device=start.device).expand(len(start), -1, -1)
    here, best = start, Point(start, start.new_full((len(start),), torch.inf, dtype=torch.float64), identity)
    for _ in range(sweeps):
        wrong, slopes = linear(here)
        square, step = swept(wrong, slopes, here)
        cost = cost_of(wrong, here).where(square.isfinite().all(-1).all(-1), torch.inf)
        best = best.better(Point(here, cost, square))
        here = here + step
    return best


def cost_of(wrong: Tensor, here: Tensor) -> Tensor:
    """Minus twice the log of how likely (B,) misfits (B, N) and latents (B, K) are."""
    return 2 * (wrong.square() / 2).log1p().sum(1) + here.double().square().sum(1)


def swept(wrong: Tensor, slopes: Tensor, here: Tensor, prior: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
    """The precision (B, K, K) and the next step (B, K) of Gauss-Newton, from misfits (B, N) and slopes (B, K, N).
    The `prior` (B, 1) may count less than it does in the end."""
    trust = 1 / (1 + wrong.square() / 2)  # with it, least squares finds what is likeliest of such errors
    weight = prior * torch.ones_like(here, dtype=slopes.dtype)
    square = (slopes * trust[:, None]) @ slopes.mT + torch.diag_embed(weight)
    side = (slopes @ (trust * wrong)[..., None])[..., 0] + weight * here
    step = -torch.linalg.solve_ex(square, side[..., None])[0][..., 0]
    return square, step.nan_to_num(0.0).clamp(-LONGEST_STEP, LONGEST_STEP).to(here.dtype)


def _pixels(dynamics: Dynamics, evidence: Evidence) -> Tensor | None:
    """The cells that are asked, if not all of them."""
    grid = evidence.top.shape[3:]
    if not grid or dynamics.settings.convolves:
        return None
    return some_pixels(grid, PIXELS, evidence.top.device)


def typical(wrong: Tensor, seen: Tensor) -> Tensor:
    """The median (B,) of what is left where something was seen."""
    return wrong.abs().masked_fill(~seen, torch.nan).nanmedian(1).values


def _weight(evidence: Evidence, error: Tensor, pixels: Tensor | None) -> Tensor:
    """One over the standard deviation of each derivative, zero where it was not seen: of the field's `error` (B, S)
    of the stencil. Neighbours on a grid err together, unless each errs alone: the evidence of a frame
    grows with the root of its
    cells, shared by those that are asked."""
    grid = evidence.top.shape[3:]
    size = error.reshape(len(error), 1, -1, *(1,) * len(grid))
    asked = grid.numel() if pixels is None else len(pixels)
    share = 1.0 if evidence.alone else (grid.numel() ** 0.5 / asked) ** 0.5
    return evidence.seen * share / (size.square() + evidence.doubt.square()).sqrt()


def _copied(evidence: Evidence, copies: int) -> Evidence:
    """All windows again and again, to be asked with other latents at once."""
    rows = torch.arange(len(evidence.times), device=evidence.times.device)
    return evidence if copies == 1 else evidence.select(rows.repeat(copies))


def linearised(misfit: Callable[[Tensor], Tensor], at: Tensor, at_once: int = 1) -> tuple[Tensor, Tensor]:
    """The misfit (B, N) and its slopes (B, K, N), in double, for so many latents `at_once`. By differences:
    forward-mode derivatives of a net take six times as long, and more digits would not change the answer."""
    moves = NUDGE * torch.eye(1 + at.shape[1], at.shape[1], dtype=at.dtype, device=at.device).roll(1, 0)
    moved = [misfit(some.flatten(0, 1)).double() for some in (at + moves[:, None]).split(at_once)]
    here, *after = (part for some in moved for part in some.split(max(1, len(at))))
    return here, torch.stack([(one - here) / NUDGE for one in after], 1)


def root_of(precision: Tensor) -> Tensor:
    """A root of the inverse: with precision = C C', it is the inverse of C'; of what has no C, the prior's."""
    lower, failed = torch.linalg.cholesky_ex(precision)
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device).expand_as(precision)
    lower = torch.where(failed[:, None, None] != 0, identity, lower)
    return torch.linalg.solve_triangular(lower.mT, identity, upper=True)
