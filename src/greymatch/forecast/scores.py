"""`score`: how far a forecast is from what was observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean
from greymatch.forecast import ensemble
from greymatch.forecast.align import Judged, align, by_lead
from greymatch.forecast.chunks import chunks
from greymatch.forecast.forecast import Forecast, check_level

METRICS = ("mse", "rmse", "mae", "nmse", "crps", "coverage", "spread_skill")
_NUMBERS = 2**18  # at once: there are many passes over them, and a processor's caches hold no more
_SUMS = ("count", "square", "absolute", "crps", "covered", "variance")


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Errors of the ensemble mean m, and of the ensemble, at the points observed after the history.

    mse = mean (m - y)^2, nmse = mse / var(y), mae = mean |m - y|, crps = E|x - y| - E|x - x'|/2

    ```python
    scores = score(model.forecast(history, times, draws=100), test)
    scores.mse                                  # over all trajectories, times, states and pixels
    scores.table()                              # by state, and "all"
    scores.by_lead()                            # how errors grow
    ```

    `dataset` holds every score over (state, lead). nmse of "all" is the mean over the states, so that it does
    not depend on units. crps is the fair estimator, unbiased in the number of draws, and the absolute error
    for a single draw. `coverage` is the share of the truth within the central interval of `level`, and
    `spread_skill` the ensemble's spread over its rmse, 1 when calibrated; both are NaN for a single draw.

    Where every draw failed the error is infinite, never left out: one such trajectory makes the mse infinite,
    and `lost` names it. Where some draws failed, the rest count.

    Not for comparing states in different units by "all" of mse, rmse, mae or crps: use nmse or `table`.
    """

    dataset: xr.Dataset
    totals: pd.DataFrame
    level: float
    draws: int
    trajectories: int
    failed: int
    lost: tuple[object, ...]

    @property
    def mse(self) -> float:
        return self._overall("mse")

    @property
    def rmse(self) -> float:
        return self._overall("rmse")

    @property
    def mae(self) -> float:
        return self._overall("mae")

    @property
    def nmse(self) -> float:
        return self._overall("nmse")

    @property
    def crps(self) -> float:
        return self._overall("crps")

    @property
    def coverage(self) -> float:
        return self._overall("coverage")

    @property
    def spread_skill(self) -> float:
        return self._overall("spread_skill")

    def table(self) -> pd.DataFrame:
        """One row for each state and one for "all"; one column for each score, and the count of values."""
        return self.totals.copy()

    def by_lead(self, state: str = "all") -> pd.DataFrame:
        """One row for each lead time, over all states or for one."""
        known = [str(name) for name in self.dataset["state"].values]
        if state not in known:
            raise GreymatchError(f"`state` must be one of {known}; got {state!r}.{did_you_mean(state, known)}")
        return self.dataset.sel(state=state, drop=True).to_dataframe()

    def _overall(self, metric: str) -> float:
        return float(self.totals[metric].to_dict()["all"])

    def __repr__(self) -> str:
        leads = self.dataset["lead"].values
        lines = [
            f"Scores of {self.trajectories} trajectories, {self.draws} draw{'s' * (self.draws > 1)}, "
            f"lead {leads[0]:g} to {leads[-1]:g}; coverage at {self.level:g}",
            self.totals.to_string(float_format="{:.4g}".format),
        ]
        if self.failed:
            lines.append(f"{self.failed} of {self.draws * self.trajectories} members failed")
        if self.lost:
            shown = ", ".join(map(str, self.lost[:5])) + ", ..." * (len(self.lost) > 5)
            lines.append(f"every draw failed, so the error is infinite, in {len(self.lost)} trajectories: {shown}")
        return "\n".join(lines)


def score(forecast: Forecast, truth: Trajectories, level: float = 0.9) -> Scores:
    """Judge a forecast by the observations at its times; times without one, and given ones, are not scored."""
    check_level(level)
    judged = align(forecast, truth)
    leads, place = by_lead(forecast, judged.scored)
    sums = _sums(forecast, judged, place, len(leads), level)
    several = len(forecast.draws) > 1
    metrics = _metrics(sums, _variance(judged), several)
    names = [*forecast.states, "all"]
    over_leads = {name: (("state", "lead"), values[:, :-1]) for name, values in metrics.items()}
    return Scores(
        dataset=xr.Dataset(over_leads, {"state": names, "lead": leads.cpu().numpy()}),
        totals=pd.DataFrame({name: values[:, -1] for name, values in metrics.items()}, index=names),
        level=level,
        draws=len(forecast.draws),
        trajectories=len(forecast),
        failed=forecast.failed,
        lost=tuple(forecast.labels[_lost(forecast, judged)].tolist()),
    )


def _sums(forecast: Forecast, judged: Judged, place: Tensor, leads: int, level: float) -> Tensor:
    """Each of `_SUMS` by state and lead (Q, S + 1, L + 1), the last entries over all states and all leads."""
    states = len(forecast.states)
    total = torch.zeros((leads, len(_SUMS), states), dtype=torch.float64, device=place.device)
    draws, values, scored, place = forecast.draws.flatten(1, 2), *_by_point(judged.values, judged.scored, place)
    for points in chunks(draws, _NUMBERS):
        terms = _terms(draws[:, points].double(), values[points].double(), level)
        total.index_add_(0, place[points], _summed(scored[points], terms))
    total = total.movedim(0, -1)
    total = torch.cat([total, total.sum(1, keepdim=True)], 1)
    return torch.cat([total, total.sum(2, keepdim=True)], 2)


def _by_point(*parts: Tensor) -> tuple[Tensor, ...]:
    """Trajectories and times as one axis."""
    return tuple(part.flatten(0, 1) for part in parts)


def _summed(scored: Tensor, terms: Sequence[Tensor]) -> Tensor:
    """The count and each term (n, Q, S), summed over the grid where they are `scored` (n, S, *grid)."""
    out = None if bool(scored.all()) else ~scored
    kept = [scored.double(), *(term if out is None else term.masked_fill(out, 0.0) for term in terms)]
    return torch.stack([part.flatten(2).sum(2) if part.ndim > 2 else part for part in kept], 1)


def _terms(draws: Tensor, truth: Tensor, level: float) -> tuple[Tensor, ...]:
    """The terms of `_SUMS` after the count, each shaped as `truth`."""
    error = (ensemble.mean(draws) - truth).nan_to_num(nan=torch.inf)
    if len(draws) == 1:
        nothing = torch.zeros_like(error)
        return error.square(), error.abs(), error.abs(), nothing, nothing
    inside = ensemble.covered(draws, truth, level) * ((~draws.isnan()).sum(0) > 1)
    return error.square(), error.abs(), ensemble.crps(draws, truth), inside, ensemble.expected_square(draws)


def _variance(judged: Judged) -> Tensor:
    """Variance (S,) of the truth where it is scored."""
    values, scored = (part.movedim(2, 0).flatten(1).double() for part in (judged.values, judged.scored))
    count = scored.sum(1)
    mean = (values * scored).sum(1) / count
    return ((values - mean[:, None]).square() * scored).sum(1) / count


def _metrics(sums: Tensor, variance: Tensor, several: bool) -> dict[str, np.ndarray]:
    """Each of `METRICS`, and the count, over (S + 1, L + 1)."""
    mean = dict(zip(_SUMS[1:], sums[1:] / sums[0], strict=True))
    square = mean["square"]
    nmse = square[:-1] / variance[:, None]
    void = 1.0 if several else math.nan
    values = {
        "mse": square,
        "rmse": square.sqrt(),
        "mae": mean["absolute"],
        "nmse": torch.cat([nmse, nmse.nanmean(0, keepdim=True)]),
        "crps": mean["crps"],
        "coverage": mean["covered"] * void,
        "spread_skill": mean["variance"].sqrt() / square.sqrt() * void,
    }
    metrics = {name: values[name].cpu().numpy() for name in METRICS}
    return metrics | {"count": sums[0].long().cpu().numpy()}


def _lost(forecast: Forecast, judged: Judged) -> np.ndarray:
    """Whether no draw of a trajectory (N,) is left at some point that is scored."""
    lost = [
        (forecast.draws[:, rows].isnan().all(0) & judged.scored[rows]).flatten(1).any(1)
        for rows in chunks(forecast.draws)
    ]
    return torch.cat(lost).cpu().numpy()
