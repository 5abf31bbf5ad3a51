"""Monthly means: what departs from the usual of a month is forecast, and the usual added again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.clock import after
from greymatch.weather.keeping import Overlap, kept
from greymatch.weather.labelled import Predictor, labelled, unlabelled
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.splits import Splits
from greymatch.weather.training.train import train
from greymatch.weather.weights import by_area

LEADS = (1, 2, 3, 4, 5)
"""Months, as in the paper."""
SUITED = {
    "net.width": 16,
    "net.source_width": 8,
    "net.depth": 1,
    "net.history": 2,
    "transport.known": "nothing",
    "training.validations": 20,
    "training.rate": 1e-3,
}
"""A few years have few months: a small network, judged often. No wind carries a departure for a month."""


def departures(archive: Archive, usual: Climatology) -> Archive:
    """A monthly archive less what is usual for each month, in memory."""
    if archive.step != "month":
        raise GreymatchError(f"`archive` must be of monthly means; {archive.where} is not. Use `archive.monthly()`.")
    values = archive.maps(archive.times) - usual.at(archive.times)
    arrays = {name: archive.fields[name].copy(data=values[:, i]) for i, name in enumerate(archive.names)}
    return replace(archive, fields=archive.fields.assign(arrays))


@dataclass(frozen=True, eq=False)
class MonthlyModel:
    """Forecasts u(t + lead) = usual(t + lead) + r(lead) d(lead), d the departure as the field carries it on.

    r (lead, field) is what least squares give on the validation years: a field that is learned by matching keeps the
    spread of what it moves, while of a month's departure little is left after some months. Where it is not certain that
    anything is, r is 0 and the forecast is climatology.
    """

    model: WeatherModel
    usual: Climatology
    damping: np.ndarray

    @staticmethod
    def learned(monthly: Archive, settings: WeatherSettings, splits: Splits, quiet: bool = True) -> MonthlyModel:
        """Of a monthly archive: the usual from its training years, the field from its departures there."""
        known = monthly.years(*splits.train)
        if len(known) < 24:
            raise GreymatchError(
                f"monthly forecasts need at least two training years, or no month departs from the usual; "
                f"{monthly.where} has {len(known)} months from {splits.train[0]} to {splits.train[1]}."
            )
        usual = Climatology.of(known)
        moved = departures(monthly, usual)
        model = train(moved, settings=settings, splits=splits, quiet=quiet)
        return MonthlyModel(model, usual, fitted_damping(model, moved, splits))

    def predictor(self, monthly: Archive, leads: Sequence[int] = LEADS) -> Predictor:
        moved = departures(monthly, self.usual)
        carry, share = self.model.predictor(moved, leads), self.damping[[LEADS.index(lead) for lead in leads]]

        def predict(starts: np.ndarray) -> xr.Dataset:
            later = self.usual.at(after(starts, np.asarray(leads), "month"))
            carried = unlabelled(carry(starts), monthly.names)[:, :, 0]
            return labelled(monthly, starts, leads, later + share[:, :, None, None] * carried)

        return predict


def fitted_damping(model: WeatherModel, moved: Archive, splits: Splits) -> np.ndarray:
    """r (lead, field) in [0, 1], see `kept`: of forecasts for months of the validation years."""
    months = moved.years(*splits.val).times
    known, weights = set(moved.times.astype("datetime64[M]").tolist()), by_area(moved.fields["lat"].values)
    starts = np.unique(after(months, -np.asarray(LEADS), "month"))
    starts = starts[[month in known for month in starts.astype("datetime64[M]").tolist()]]
    said = unlabelled(model.predictor(moved, LEADS)(starts), moved.names)[:, :, 0]
    asked = after(starts, np.asarray(LEADS), "month")
    judged = np.isin(asked, after(months, np.asarray([0]), "month"))
    was = moved.maps(np.where(judged, asked, months[0].astype(asked.dtype)))
    size = said.shape[-1] * said.shape[-2]
    overlaps = (np.einsum("tlchw,tlchw,h->tlc", said, other, weights, dtype=np.float64) for other in (was, said))
    return kept(Overlap(*(np.where(judged[..., None], overlap / size, np.nan) for overlap in overlaps)))
