"""From a forecast, a posterior and the truth to a `Calibration`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.diagnostics.calibration import ALL, Calibration
from greymatch.diagnostics.energy import energy_score
from greymatch.diagnostics.points import Points
from greymatch.diagnostics.reliability import Reliability
from greymatch.forecast.align import align
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.posterior import Posterior
from greymatch.models.pixels import at_pixels, some_pixels

MOST_PIXELS = 64  # neighbours say the same
LEAD_GROUPS = 8


def calibration_of(
    forecast: Forecast,
    test: Trajectories,
    posterior: Posterior | None = None,
    priors: Mapping[str, float] | None = None,
) -> Calibration:
    """Judge a forecast by what was observed, and a posterior by the true parameters that `test` knows.

    `priors` are the standard deviations, by name, of the priors of the parameters to judge.
    """
    values, parameters = _Values.of(forecast, test), _Parameters.of(posterior, test, priors or {})
    by_state = values.points()
    pooled = Points.joined([points.over(float(unit)) for points, unit in zip(by_state, values.unit, strict=True)])
    states = dict(zip(forecast.states, by_state, strict=True)) | {ALL: pooled}
    return Calibration(
        parameters=parameters.judged(),
        forecasts={name: Reliability.of(points) for name, points in states.items()},
        leads=_by_lead(pooled),
        energy={"forecast": values.energy()} | ({"parameters": parameters.energy()} if parameters.names else {}),
    )


@dataclass(frozen=True, eq=False)
class _Values:
    """Draws (D, N, T, S, P) at some pixels, truth and which of it is scored (N, T, S, P), lead (N, T, 1), and the
    standard deviation (S,) of the truth."""

    draws: Tensor
    truth: Tensor
    scored: Tensor
    lead: Tensor
    unit: Tensor

    @staticmethod
    def of(forecast: Forecast, test: Trajectories) -> _Values:
        judged, axes = align(forecast, test), len(forecast.grid)
        pixels = some_pixels(forecast.draws.shape[4:], MOST_PIXELS, forecast.draws.device)
        parts = (forecast.draws, judged.values, judged.scored)
        draws, truth, scored = (
            at_pixels(part, pixels, axes).flatten(part.ndim - axes) if axes else part[..., None] for part in parts
        )
        return _Values(draws, truth, scored, forecast.lead[..., None], _spread(truth, scored))

    def points(self) -> list[Points]:
        """State after state, each in its own units."""
        return [
            Points.of(self.draws[..., s, :], self.truth[..., s, :], self.scored[..., s, :], self.lead)
            for s in range(self.truth.shape[2])
        ]

    def energy(self) -> float:
        """The mean over trajectories and times; a vector is all states and pixels at one of them."""
        draws, truth = (part / self.unit[:, None] for part in (self.draws, self.truth))
        rows, seen = truth.flatten(2).flatten(0, 1), self.scored.flatten(2).flatten(0, 1)
        return float(energy_score(draws.flatten(3).flatten(1, 2), rows, seen).nanmean())


def _spread(truth: Tensor, scored: Tensor) -> Tensor:
    """1 for a state that stands still, or that nobody saw."""
    values, seen = (part.movedim(2, 0).flatten(1) for part in (truth.double(), scored))
    count = seen.sum(1).clamp_min(1)
    mean = (values * seen).sum(1) / count
    spread = ((values - mean[:, None]).square() * seen).sum(1).div(count).sqrt()
    return torch.where(spread > 0, spread, 1.0)


@dataclass(frozen=True, eq=False)
class _Parameters:
    """Draws (D, N, K), truth (N, K; NaN where unknown) and the prior's standard deviation (K,) of `names`."""

    names: tuple[str, ...]
    draws: Tensor
    truth: Tensor
    unit: Tensor

    @staticmethod
    def of(posterior: Posterior | None, test: Trajectories, priors: Mapping[str, float]) -> _Parameters:
        names = tuple(name for name in priors if name in test.truth) if posterior else ()
        if posterior is None or not names:
            return _Parameters((), torch.zeros(1, 0, 0), torch.zeros(0, 0), torch.zeros(0))
        draws = posterior.draws[..., [posterior.names.index(name) for name in names]]
        # in the precision of the draws, so that a value that was stored is equal to itself
        truth = torch.stack([torch.as_tensor(test.truth[name]).to(draws) for name in names], 1)
        unit = torch.tensor([priors[name] for name in names], dtype=torch.float64)
        return _Parameters(names, draws.double(), truth.double(), unit)

    def judged(self) -> dict[str, Reliability]:
        truths = zip(self.names, self.draws.unbind(2), self.truth.unbind(1), strict=True)
        return {name: Reliability.of(Points.of(draws, truth, truth.isfinite())) for name, draws, truth in truths}

    def energy(self) -> float:
        """The mean over trajectories; a vector is all parameters of one."""
        return float(energy_score(self.draws / self.unit, self.truth / self.unit, self.truth.isfinite()).nanmean())


def _by_lead(points: Points) -> dict[float, Reliability]:
    """Groups of equal width in lead time, by the mean of the leads in each; empty ones are left out."""
    width = points.lead.max() / LEAD_GROUPS
    group = (points.lead / width - 1e-6).floor().clamp(0, LEAD_GROUPS - 1)
    chosen = [points.select(group == i) for i in range(LEAD_GROUPS)]
    return {float(some.lead.mean()): Reliability.of(some) for some in chosen if len(some)}
