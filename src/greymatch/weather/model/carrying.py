"""The winds that a model says carry the fields, to be seen beside the true ones."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from greymatch.weather.archive import Archive
from greymatch.weather.climode.solve import start_winds
from greymatch.weather.clock import Clock
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.model.transport import USUAL_WIND
from greymatch.weather.sphere import area_weights


def winds_at(model: WeatherModel, archive: Archive, starts: np.ndarray) -> np.ndarray | None:
    """Winds (time, 2, field, lat, lon) in m/s, to the east and to the north, at `starts`; None where none carry."""
    network = model.network
    past = network.scaling.apply(model.given(archive, starts))
    if network.settings.method == "climode":
        return (USUAL_WIND * start_winds(network, past)).unflatten(1, (2, -1)).numpy()
    hours = torch.from_numpy(Clock.of(starts).hours)
    with torch.no_grad():
        rate = network.rate(hours, past[:, -1], past, hours)
        known = network.dynamics.outset.winds(past[:, -1])
    if rate.east is None or rate.north is None:
        return None
    learned = torch.stack([rate.east, rate.north], 1)
    return (learned if known is None else learned + known).numpy()


def wind_correlation(found: np.ndarray, truth: np.ndarray) -> float:
    """Of winds (..., 2, lat, lon), both components together, each about its mean over the sphere and time."""
    one, other = (_departures(torch.from_numpy(np.asarray(winds, dtype=np.float64))) for winds in (found, truth))
    weights = area_weights(one)

    def inner(a: Tensor, b: Tensor) -> Tensor:
        return (a * b * weights).sum()

    return float(inner(one, other) / (inner(one, one) * inner(other, other)).sqrt().clamp_min(1e-30))


def _departures(winds: Tensor) -> Tensor:
    axes = [axis for axis in range(winds.ndim) if axis != winds.ndim - 3]
    return winds - (winds * area_weights(winds)).mean(axes, keepdim=True)
