"""Forecasts that know little: what a model must beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.clock import after
from greymatch.weather.labelled import Predictor, labelled, start_dates
from greymatch.weather.weights import by_area

LEADS = (6, 12, 18, 24, 30, 36, 42)
"""Hours, as in the paper."""
_TOGETHER = 64


def persistence(archive: Archive, leads: Sequence[int] = LEADS) -> Predictor:
    """x(t + lead) = x(t): the weather stays as it is."""

    def predict(starts: np.ndarray) -> xr.Dataset:
        now = archive.maps(starts)[:, None]
        return labelled(archive, starts, leads, np.repeat(now, len(leads), axis=1))

    return predict


def climatology(archive: Archive, usual: Climatology, leads: Sequence[int] = LEADS) -> Predictor:
    """x(t + lead) = what is usual at that date and hour."""

    def predict(starts: np.ndarray) -> xr.Dataset:
        return labelled(archive, starts, leads, usual.at(after(starts, np.asarray(leads), archive.step)))

    return predict


def damped_persistence(archive: Archive, train: Archive, usual: Climatology, leads: Sequence[int] = LEADS) -> Predictor:
    """x(t + lead) = usual(t + lead) + r(lead) (x(t) - usual(t)), r fitted to each field by least squares.

    The fit is of the training years alone, and weighted by area.
    """
    damping = fitted_damping(train, usual, leads)

    def predict(starts: np.ndarray) -> xr.Dataset:
        departure = (archive.maps(starts) - usual.at(starts))[:, None]
        later = usual.at(after(starts, np.asarray(leads), archive.step))
        return labelled(archive, starts, leads, later + damping[:, :, None, None] * departure)

    return predict


def fitted_damping(train: Archive, usual: Climatology, leads: Sequence[int]) -> np.ndarray:
    """r (lead, field): the sum of a(t) a(t + lead) over that of a(t)^2, a the departure from what is usual."""
    weights = by_area(train.fields["lat"].values)
    starts = start_dates(train, leads)
    product, square = np.zeros((len(leads), len(train.names))), np.zeros(len(train.names))
    for first in range(0, len(starts), _TOGETHER):
        now = starts[first : first + _TOGETHER]
        later = after(now, np.asarray(leads), train.step)
        a, b = (train.maps(times) - usual.at(times) for times in (now, later))
        product += np.einsum("tchw,tlchw,h->lc", a, b, weights, dtype=np.float64)
        square += np.einsum("tchw,tchw,h->c", a, a, weights, dtype=np.float64)
    return product / square
