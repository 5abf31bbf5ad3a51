"""How sure of the parameters a model may be, judged on trajectories not trained on, and without knowing the truth.

A posterior errs in two ways. Where windows of one trajectory disagree by more than they claim, or by less, it claims
too much, or too little: that is a factor. What all get wrong together shows where other stencils make one disagree with
itself, a factor as well, where other steps of a path do, or hides in the residual (see `credit`): these are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, readable, spread_windows
from greymatch.models.clean import shared_weight
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.models.sight import Sight
from greymatch.models.whole import Recordings
from greymatch.simulation.sixth import ORDER
from greymatch.training.judging import judging

LEVEL, NORMAL = 0.9, 1.6449  # a share of trajectories, and within how many standard deviations a normal law has it
DRAWS, MOST_TRAJECTORIES, POINTS = 24, 256, 48
ENOUGH = 100  # trajectories: a factor by fewer is much a matter of chance
FEWEST_FIELDS, NOISY_NUMBERS = 24, 2**20  # trajectories of noisy fields, whose windows take long to be asked
LEAST_FACTOR, MOST_FACTOR = 1e-10, 100.0
PASSES = 2  # how far the prior pulls depends on how sure data are, and the other way round
MORE_POINTS = 2  # of a stencil
COARSER = 2  # times fewer steps of a path
COMMON = 3.0  # times what windows disagree by: no less is sure to be an error that they share
BY_CHANCE = 2.0  # standard deviations
PRIOR = 1.0  # nothing is less certain than that
ROUNDING = 1e-13  # two answers are never closer
FLAWLESS = 1e-7  # misfit of most paths through windows, relative to these's spreads
INFORMED, FEW = 0.5, 3  # a variance that data, and not the prior, decide; and too few such windows to be surer by
RESOLVED = 4 * torch.finfo(torch.float32).eps  # what is owed by less is rounding, by which windows disagree as well


def calibrate_parameters(network: Network, data: Trajectories, learned: Trajectories | None = None) -> None:
    """Set `network.doubt`, and add to `network.blind`, which knows what laws disagree on that may all be true. By
    `data`, and where these are few and there is no net by those that were `learned` from."""
    if not network.shapes.free:
        return
    if learned is not None and (network.complete or network.dynamics.written):
        data = judging(learned, data, min(ENOUGH, _most(data)))
    some = data.select(slice(_most(data)))
    window, known = spread_windows(some, network.settings.window)
    if not len(window.times):
        return
    with torch.no_grad():
        sight = network.look(window)
        first = Beginnings.of(network, window, sight, known)
        shared = first.stencil_factors() if first else torch.zeros_like(network.doubt)
        exact = bool(first and first.flawless) or (bool(data.noise) and network.dynamics.written)
        least = _least(window) if sight.own else LEAST_FACTOR
        steps = _placed(_step_errors(network, window, sight), known)
    network.doubt.fill_(1.0)
    for _ in range(PASSES):
        found = _estimates(network, sight, known)
        apart = _disagreement(found._replace(mean=found.mean - steps.nan_to_num(0.0)))
        factors = torch.where(shared > COMMON * apart, shared, apart)
        network.doubt.copy_(factors.clamp(least, MOST_FACTOR))
    # a method that would ask windows teaches its encoder less
    alone = sight.own is None and network.prefers_asking
    claimed = _estimates(network, sight, known) if alone else None
    untaught = _untaught(claimed, network.doubt) if claimed else torch.zeros_like(network.blind)
    errors = torch.stack(
        [
            network.blind,
            _hidden(network, some, exact),
            _of_beginnings(steps, known),
            untaught,
        ]
    ).double()
    network.blind.copy_(errors.square().sum(0).sqrt().clamp_max(PRIOR))


def _least(window: Window) -> float:
    """The smallest factor of windows that were asked: that they agree says nothing of what all get wrong. Cells of a
    field without noise count as their root only, which may be too modest."""
    return shared_weight(window) if window.smooth is None else 1.0


def _most(data: Trajectories) -> int:
    """How many trajectories are asked."""
    if not (data.grid and data.noise):
        return MOST_TRAJECTORIES
    return max(FEWEST_FIELDS, min(MOST_TRAJECTORIES, NOISY_NUMBERS // data.values[0].numel()))


class Estimates(NamedTuple):
    """Mean and variance of eps (N, W, L) from W windows over each trajectory, and which exist (N, W)."""

    mean: Tensor
    variance: Tensor
    known: Tensor


def _disagreement(found: Estimates) -> Tensor:
    """Factors (L,): how far the first window, from which forecasts are judged too, lies from the surest other one, in
    units of their standard deviations; the prior pulls both of a pair alike, so that they differ by less than they err
    (how parameters go together is left out of that).
    Those of a standard normal law give 1, and so does a lack of windows. Where data tell nothing, windows agree as
    well: only those that are told of something make others surer."""
    claimed = found.variance.masked_fill(~found.known[..., None], torch.inf)
    surest = 1 + claimed[:, 1:].argmin(1, keepdim=True)
    both = torch.cat([torch.zeros_like(surest), surest], 1)
    pairs = claimed.gather(1, both)
    compared = pairs.isfinite().all(1)
    told = compared & (pairs.amax(1) < INFORMED)
    spread = torch.where(told, pairs.sum(1) - 2 * pairs.prod(1), pairs.sum(1)).sqrt()
    gaps = found.mean.gather(1, both).diff(dim=1)[:, 0].abs().clamp_min(ROUNDING)
    away = gaps / spread.clamp_min(ROUNDING)
    return torch.where(told.sum(0) < FEW, _factors(away, compared).clamp_min(1.0), _factors(away, told))


def _factors(gaps: Tensor, compared: Tensor) -> Tensor:
    """By how much standard deviations must grow so that nine in ten gaps (N, L), and the next one, are as a normal law
    has them; 1 where none was `compared`."""
    found = torch.ones_like(gaps[0])
    for index, those in enumerate(compared.unbind(1)):
        count = int(those.sum())
        if count:
            level = min(1.0, LEVEL * (count + 1) / count)  # so many see themselves, and the next one is not of them
            found[index] = gaps[those, index].quantile(level) / NORMAL
    return found


def _estimates(network: Network, sight: Sight, known: Tensor) -> Estimates:
    """From the law of each window that was asked, and from draws of an encoder."""
    if sight.own:
        mean = sight.own.latents().eps.double() + sight.own.released(network.doubt)
        return Estimates(_placed(mean, known), _placed(sight.own.spread.double().square(), known), known)
    with torch.no_grad():
        eps = network.claimed_parameters(sight, DRAWS, torch.Generator(known.device).manual_seed(0))
    return Estimates(_placed(eps.mean(0), known), _placed(eps.var(0), known), known)


def _untaught(found: Estimates, factors: Tensor) -> Tensor:
    """Standard deviations (L,) that an encoder's answers lack: they differ between trajectories, and are unsure of
    each, by as much as the prior does, which few trajectories show by chance alone only in part. One that was taught
    little says the same of all, and windows agree on it."""
    mean, variance = (part[found.known] for part in (found.mean, found.variance))
    chance = BY_CHANCE * (2 / len(found.known)) ** 0.5  # a variance errs by that part of itself
    told = (1 + chance) * mean.var(0, correction=0) + factors.square() * variance.mean(0)
    return (PRIOR - told).clamp_min(0.0).sqrt()


def _placed(values: Tensor, known: Tensor) -> Tensor:
    """What belongs to the windows that exist (M, L), trajectory by trajectory (N, W, L)."""
    placed = values.new_zeros(*known.shape, values.shape[-1])
    placed[known] = values
    return placed


def _step_errors(network: Network, window: Window, sight: Sight) -> Tensor:
    """What the steps of paths make the answers (M, L) of windows wrong by. Fewer steps tell, since the error of
    Runge-Kutta falls with their sixth power; zero where no path goes through, NaN where none does in fewer steps.
    Windows disagree by it, but none errs by what another does, so it is known of each."""
    found = window.values.new_zeros(len(window.times), network.shapes.free, dtype=torch.float64)
    if sight.own is None or sight.near is None:
        return found
    rows = sight.near.isfinite().nonzero()[:, 0]
    own = sight.own.select(rows)
    told = own.startless() if own.phases else own
    coarse, near = network.trace(window.select(rows), told, sight.features.amplitude[rows], COARSER)
    wrong = (coarse.latents().eps - own.latents().eps) / (COARSER**ORDER - 1)
    found[rows] = wrong.double().where(near.isfinite()[:, None], torch.nan)
    return found


def _of_beginnings(errors: Tensor, known: Tensor) -> Tensor:
    """Standard deviations (L,) of errors (N, W, L) in the first windows of trajectories that exist; those of which none
    is known say nothing."""
    first = errors[known & (known.cumsum(1) == 1)]
    return (first.abs().nanquantile(LEVEL, 0) / NORMAL).nan_to_num(0.0)


@dataclass(frozen=True)
class Beginnings:
    """The first windows of trajectories that exist: what they tell by paths, and by derivatives alone, and how near
    paths come to them (N,), inf where none does. Where these go through, what finite differences err by does not
    count."""

    network: Network
    window: Window
    own: Laplace
    told: Laplace
    amplitude: Tensor
    near: Tensor

    @staticmethod
    def of(network: Network, window: Window, sight: Sight, known: Tensor) -> Beginnings | None:
        """None where windows are not asked, or are noisy: then derivatives are no matter of points, nor paths exact."""
        if sight.own is None or sight.near is None:
            return None
        rows = (known.cumsum(1) == 1)[known].nonzero()[:, 0]
        shown, amplitude, own = window.select(rows), sight.features.amplitude[rows], sight.own.select(rows)
        own, unit = own.startless() if own.phases else own, network.dynamics.scales_top * amplitude
        told = network.ask(network.evidence(shown), own, unit)
        return Beginnings(network, shown, own, told, amplitude, sight.near[rows])

    def stencil_factors(self) -> Tensor:
        """Factors (L,): what the stencil of finite differences makes answers wrong by, in units of their standard
        deviations. Errors shrink in a ratio as points are added, which is that of two gaps between three stencils."""
        usual = self.network.settings.encoder.stencil
        narrow, wide = usual - MORE_POINTS, usual + MORE_POINTS
        able = wide <= self.window.length and self.network.physics.order < narrow
        if not able or self._followed:
            return torch.zeros_like(self.network.doubt)
        after, before = self._gaps(wide), self._gaps(narrow)
        ratio = (after / before.clamp_min(1e-12)).clamp_max(1.0)
        return after / (1 + ratio.square()).sqrt()

    @property
    def flawless(self) -> bool:
        """Whether the law leaves nothing to explain."""
        return self._followed and float(self.near.median()) <= FLAWLESS

    @property
    def _followed(self) -> bool:
        """Whether paths go through most windows."""
        return bool((self.near < torch.inf).double().mean() > 0.5)

    def _gaps(self, stencil: int) -> Tensor:
        evidence = self.network.evidence(self.window, stencil=stencil)
        other = self.network.ask(evidence, self.told, self.network.dynamics.scales_top * self.amplitude)
        away = (other.latents().eps - self.told.latents().eps).abs() / self.told.spread
        return _factors(away, self.near.isinf()[:, None].expand_as(away))


def _hidden(network: Network, data: Trajectories, exact: bool) -> Tensor:
    """Standard deviations (L,): what the residual owes the parameters of most trajectories, and the doubt about it.
    Noise of derivatives, which grows where an input jumps, is none of a law that is `exact`."""
    data = data.select(readable(data, network.settings.window).nonzero()[:, 0].cpu())
    if not network.credits or not len(data):
        return torch.zeros_like(network.blind)
    with torch.no_grad():
        recordings = Recordings.of(network, data, network.observe(data, refine=False).features, POINTS)
        noise = torch.zeros_like(network.noise) if exact else network.noise
        credit = recordings.credit(network, recordings.posterior(network), noise)
    owed, doubt = credit.paid().abs().quantile(LEVEL, 0) / NORMAL, credit.doubt.median(0).values
    hidden = (owed.square() + doubt.square()).sqrt().clamp_max(PRIOR)
    return hidden.where(hidden > RESOLVED, 0.0)
