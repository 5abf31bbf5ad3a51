"""Validation by what counts: the error of forecasts on trajectories not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, gather, usable
from greymatch.errors import GreymatchError
from greymatch.forecast.ensemble import covered, crps, quantile
from greymatch.matching.path import widen
from greymatch.models.collocation import smoothed
from greymatch.models.latents import Latents, Members
from greymatch.models.network import Network
from greymatch.models.rollout import TOLERANCE, roll_out
from greymatch.models.sight import Sight
from greymatch.models.solving import allowed, differing
from greymatch.simulation.start import Start

MOST_TRAJECTORIES, MOST_NUMBERS = 128, 1_500_000
MOST_FOR_COVERAGE = 64
NUMBERS_FOR_COVERAGE = 24_000_000  # ten fields of 32 x 32: fewer say little about coverage
JUDGED = 2_000_000  # of these, spread over all: neighbours say much the same, and to sort is slow
WORST, EXACT = 1e3, 1e-12
CLEARLY = 1.2
SHARES = 11  # that are tried between two
MOST_STEPS = 2_000  # a field that is wild in the middle of training must not hold up the run


@dataclass(frozen=True)
class ForecastError:
    """`mse` in physical units, for people; `scaled` relative to each state's spread, for choosing: the geometric mean
    over trajectories, which a few that are hard to foresee do not decide alone; `typical` that of the median
    trajectory; `failed` members."""

    mse: float
    scaled: float
    typical: float
    failed: int


class Verdict(Protocol):
    """What the loop reads of a judgement: `scaled` chooses the weights, `mse` is shown."""

    @property
    def scaled(self) -> float: ...

    @property
    def mse(self) -> float: ...


class Judge(Protocol):
    """Forecasts with a network as it is now."""

    def choose(self, network: Any) -> Verdict: ...


@dataclass(frozen=True)
class EnsembleError:
    """`coverage` of the central intervals, the `crps` relative to each state's spread, and how far members go `astray`:
    above 1 the mean of all lies outside of where most of them are. By the factors of `reach` (n,) each interval would
    have to grow to hold its truth, which is one of the trajectory that `whose` (n,) numbers."""

    coverage: float
    crps: float
    astray: float
    reach: Tensor
    whose: Tensor

    def needed(self, wanted: float) -> float:
        """By which factor all intervals would have to grow to cover so much."""
        return float(self.reach.sort().values[min(int(wanted * len(self.reach)), len(self.reach) - 1)])

    def wanted(self, level: float, most: float) -> float:
        """The share of these, up to `most`, that intervals must hold for those of the next trajectory to hold `level`:
        none of these is like it, so each is held against intervals that all others ask for."""
        trajectories = self.whose.unique()
        if len(trajectories) < 2:
            return most
        shares = torch.linspace(level, most, SHARES, device=self.reach.device)
        held = torch.stack([self._held_by_others(one, shares) for one in trajectories]).mean(0)
        enough = shares[held >= level]
        return float(enough[0]) if len(enough) else most

    def _held_by_others(self, one: Tensor, shares: Tensor) -> Tensor:
        """How much of trajectory `one` intervals hold that hold no more than each of `shares` (n,) of the others."""
        its = self.whose == one
        others = self.reach[~its].sort().values
        factors = others[((shares * len(others)).long() - 1).clamp_min(0)]
        return (self.reach[its, None] <= factors).double().mean(0)


@dataclass(frozen=True)
class Validator:
    """Forecasts from the first window of validation trajectories to their end, with the posterior's means; or from so
    many windows of `each`."""

    window: Window
    times: Tensor
    truth: Tensor
    seen: Tensor
    signals: Signals | None
    each: int = 1

    @staticmethod
    def of(data: Trajectories, length: int) -> Validator:
        data, _ = _shown(data, length)
        return Validator._starting(data, length, torch.full_like(data.lengths, length - 1))

    @staticmethod
    def over(data: Trajectories, length: int) -> Validator:
        """The same from two windows of each: its first and, of all that have a future, the one in the middle."""
        data, there = _shown(data, length)
        order = torch.where(there, torch.arange(there.shape[1], device=there.device), there.shape[1]).sort(1).values
        middle = order.gather(1, (there.sum(1, keepdim=True) - 1) // 2)
        ends = torch.cat([torch.full_like(middle, length - 1), middle], 1).flatten()
        rows = torch.arange(len(data)).repeat_interleave(2)
        return replace(Validator._starting(data.select(rows), length, ends), each=2)

    @staticmethod
    def _starting(data: Trajectories, length: int, ends: Tensor) -> Validator:
        """From the windows that end at `ends` (N,) on; what follows may be shorter than of others."""
        rows = torch.arange(len(data), device=ends.device)
        window = gather(data, rows, ends, length)
        after = ends[:, None] + torch.arange(1, data.times.shape[1] - length + 1, device=ends.device)
        there, at = after < data.times.shape[1], (rows[:, None], after.clamp_max(data.times.shape[1] - 1))
        seen = data.mask[at] & widen(there, data.mask)
        return Validator(window, data.times[at].where(there, torch.inf), data.values[at], seen, data.inputs)

    def choose(self, network: Network) -> ForecastError:
        """Let the network ask each window itself, if it can, unless the encoder alone is typically better: on rare
        windows it is not, and few of those are among so few. The error is that of forecasts by the choice."""
        with torch.no_grad():
            sight = network.look(self.window, refine=network.prefers_asking)
        told, *asked = self.errors(network, [sight.encoded] + [sight] * network.prefers_asking)
        better = bool(asked) and asked[0].typical < CLEARLY * told.typical
        network.refined.fill_(better)
        return asked[0] if better else told

    def error(self, network: Network, refine: bool | None = None) -> ForecastError:
        """The error of central forecasts; `refine` says whether windows are asked, None is the choice made."""
        with torch.no_grad():
            sight = network.look(self.window, refine)
        return self.errors(network, [sight])[0]

    def errors(self, network: Network, sights: Sequence[Sight]) -> list[ForecastError]:
        """Those of central forecasts by each of the sights: so few members, solved together, take as long as some."""
        rows = torch.arange(len(self.times), device=self.times.device).repeat(len(sights))
        signals = self.signals.select(rows) if self.signals else None
        with torch.no_grad():
            starts = [sight.started(self.window, network.physics.order) for sight in sights]
            members, start = _together([network.central(sight) for sight in sights], starts)
            solution = roll_out(network, start, members, self.times[rows], signals, TOLERANCE, MOST_STEPS)
        parts = zip(solution.values.chunk(len(sights)), solution.status.chunk(len(sights)), strict=True)
        return [self._judged(network, values, status) for values, status in parts]

    def _judged(self, network: Network, values: Tensor, status: Tensor) -> ForecastError:
        spread = network.scales.spread.reshape(-1, *(1,) * (self.truth.ndim - 3))
        wrong = values - self.truth.float()
        bounded = _bounded(wrong / spread) * self.seen
        each = bounded.flatten(1).sum(1) / self.seen.flatten(1).sum(1).clamp_min(1)
        return ForecastError(
            mse=float(wrong[self.seen].double().square().mean()),
            scaled=float((each + EXACT).log().mean().exp()),
            typical=float(each.median()),
            failed=int((status != 0).sum()),
        )

    def sight(self, network: Network, draws: int) -> Sight:
        """What is known of the windows that an ensemble of so many draws is judged by."""
        with torch.no_grad():
            return network.look(self.window.select(torch.arange(self.judged(draws), device=self.times.device)))

    def judged(self, draws: int) -> int:
        """By how many windows an ensemble of so many draws is judged."""
        fitting = NUMBERS_FOR_COVERAGE // (draws * self.truth[0].numel())
        return max(1, min(len(self.times), MOST_FOR_COVERAGE, fitting))

    def ensemble(self, network: Network, sight: Sight, level: float, draws: int) -> EnsembleError:
        """How an ensemble does on the same trajectories, always with the same random numbers."""
        count = self.judged(draws)
        rows = torch.arange(count, device=self.times.device).repeat(draws)
        generator = torch.Generator(self.times.device).manual_seed(0)
        with torch.no_grad():
            shown = self.window.select(rows[:count])
            members = network.draw(sight, draws, generator)
            drawn = sight.started(shown, network.physics.order).drawn(draws, generator, network.widening)
            start = drawn.select(torch.arange(len(rows), device=rows.device) % len(drawn))
            signals = self.signals.select(rows) if self.signals else None
            solution = roll_out(network, start, members, self.times[rows], signals, TOLERANCE, MOST_STEPS)
        values = solution.values.reshape(draws, count, *solution.values.shape[1:])
        if not network.recalls:
            numbers = differing(members, drawn if len(drawn) > count else None).unflatten(0, (draws, count))
            values = smoothed(values, numbers, allowed(network, TOLERANCE))
        members.loosen(values, TOLERANCE)
        values = _observed(network, values, generator)
        spread = network.scales.spread.reshape(-1, *(1,) * (values.ndim - 4))
        places = _spread_over(self.seen[:count], JUDGED // draws)
        scaled = (values / spread).flatten(1)[:, places]
        truth = (self.truth[:count].to(values.dtype) / spread).flatten()[places]
        return EnsembleError(
            coverage=float(covered(scaled, truth, level).nanmean()),
            crps=float(crps(scaled, truth).nan_to_num(WORST).mean()),
            astray=_astray(scaled),
            reach=reaching(scaled, truth, level),
            whose=places // (self.each * self.truth[0].numel()),
        )


def _shown(data: Trajectories, length: int) -> tuple[Trajectories, Tensor]:
    """Some of the trajectories that can be forecast from their first window on, and where their windows may end."""
    # two observations give the velocity that a forecast of order 2 starts with
    shown, there = data.mask[:, :length].sum(1).flatten(1).amin(1) >= 2, usable(data, length)
    rows = (shown & there[:, length - 1 : length].any(1)).nonzero()[:MOST_TRAJECTORIES, 0]
    if not len(rows):
        raise GreymatchError(
            f"`validation` must hold a trajectory that shows every state twice in its first {length} points (the "
            f"window) and goes on; the longest has {int(data.lengths.max())} points. Give longer ones, or set a "
            "smaller `window`."
        )
    rows = rows[: max(4, MOST_NUMBERS // data.values[0, length:].numel())]
    chosen = data.select(rows.cpu())
    return chosen, there[rows] & _twice(chosen.mask, length)


def _twice(mask: Tensor, length: int) -> Tensor:
    """Whether the window that ends at each point (N, T) shows each state twice, in every cell of a grid."""
    count = mask.cumsum(1, dtype=torch.int32)
    count[:, length:] = count[:, length:] - count[:, :-length].clone()
    return (count >= 2).flatten(2).all(2)


def _together(parts: Sequence[Members], starts: Sequence[Start]) -> tuple[Members, Start]:
    """Members one after another and where all of them start, which is where some of them found that they do."""
    if len(parts) == 1:
        return parts[0], starts[0]
    phase = torch.cat([part.latents.started(one.phase) for part, one in zip(parts, starts, strict=True)])
    time = torch.cat([one.time for one in starts])
    eps, z = (torch.cat([getattr(part.latents, name) for part in parts]) for name in ("eps", "z"))
    return Members(Latents(eps, z), torch.cat([part.kick for part in parts])), Start(phase, time)


def _spread_over(seen: Tensor, most: int) -> Tensor:
    """Where in `seen`, laid out flat, up to `most` of what is seen stands, evenly spread over all of it."""
    places = seen.flatten().nonzero()[:, 0]
    chosen = torch.linspace(0, len(places) - 1, min(most, len(places)), dtype=torch.float64, device=places.device)
    return places[chosen.round().long()]


def _astray(members: Tensor) -> float:
    """How far the mean of the members (D, n) lies from the middle of their 90 % intervals, in halves of these."""
    low, high = quantile(members, torch.tensor([0.05, 0.95]))
    apart, wide = members.nanmean(0) - (low + high) / 2, (high - low) / 2
    return float((apart.square().nanmean() / wide.square().nanmean().clamp_min(EXACT)).sqrt())


def reaching(members: Tensor, truth: Tensor, level: float) -> Tensor:
    """By which factors (n,) the intervals of members (D, n), with the ranks that `covered` goes by, must grow about
    their means to hold the truth; of members that failed, none is enough."""
    outside = max(0.0, ((len(members) + 1) * (1 - level) / 2 - 1) / (len(members) - 1))
    low, high = quantile(members, torch.tensor([outside, 1 - outside]))
    mean = members.nanmean(0)
    side = torch.where(truth > mean, high - mean, mean - low).clamp_min(EXACT)
    return ((truth - mean).abs() / side).nan_to_num(torch.inf)


def _bounded(scaled: Tensor) -> Tensor:
    """Squared errors, those of what failed as large as can be."""
    return scaled.nan_to_num(WORST, WORST, WORST).clamp(-WORST, WORST).square()


def _observed(network: Network, values: Tensor, generator: torch.Generator) -> Tensor:
    """Members (D, N, T, S, *grid) as they would be observed: what they are judged by is noisy too."""
    if not bool(network.observed.any()):
        return values
    size = network.observed.reshape(-1, *(1,) * (values.ndim - 4))
    return values + size * torch.randn(values.shape, generator=generator, device=values.device, dtype=values.dtype)
