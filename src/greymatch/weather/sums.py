"""Sums over forecasts, from which scores follow; they take the forecasts a few at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from greymatch.forecast import ensemble
from greymatch.weather.spectra import zonal_spectrum
from greymatch.weather.weights import by_area, by_cosine


@dataclass
class Batch:
    """Some forecasts (time, lead, member, field, lat, lon); truth and what is usual (time, lead, field, lat, lon)."""

    draws: np.ndarray
    truth: np.ndarray
    usual: np.ndarray

    def __post_init__(self) -> None:
        self.draws, self.truth, self.usual = (x.astype(np.float64) for x in (self.draws, self.truth, self.usual))
        self.mean = self.draws.mean(axis=2)

    @property
    def several(self) -> bool:
        return self.draws.shape[2] > 1


@dataclass
class Sums:
    """Each of `total` is (lead, field, ...), summed over the starts; `normal` is a field about which squares are taken.

    Weights have mean 1, so that means over the grid with them are means over the sphere.
    """

    lat: np.ndarray
    normal: np.ndarray
    count: int = 0
    total: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        self.count += len(batch.truth)
        parts = self._errors(batch) | self._anomalies(batch) | self._pooled(batch) | self._waves(batch)
        parts |= self._ensemble(batch) if batch.several else {}
        for name, values in parts.items():
            self.total[name] = self.total.get(name, 0.0) + values.sum(axis=0)

    def _mean(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Over the grid."""
        return np.einsum("...hw,h->...", values, weights) / (values.shape[-1] * values.shape[-2])

    def _errors(self, batch: Batch) -> dict[str, np.ndarray]:
        error = batch.mean - batch.truth
        square = self._mean(error**2, by_area(self.lat))
        paper = self._mean(error**2, by_cosine(self.lat))
        return {
            "square": square,
            "root": np.sqrt(square),
            "paper_square": paper,
            "paper_root": np.sqrt(paper),
            "absolute": self._mean(np.abs(error), by_area(self.lat)),
            "error": self._mean(error, by_area(self.lat)),
            "error_map": error,
            "square_map": error**2,
        }

    def _anomalies(self, batch: Batch) -> dict[str, np.ndarray]:
        """WeatherBench 2's anomaly correlation of each forecast, and its square."""
        forecast, truth = batch.mean - batch.usual, batch.truth - batch.usual
        weights = by_area(self.lat)
        power = self._mean(forecast**2, weights) * self._mean(truth**2, weights)
        # a forecast of the usual has no anomaly, and by that no correlation with one
        found = np.divide(
            self._mean(forecast * truth, weights), np.sqrt(power), out=np.zeros_like(power), where=power > 0
        )
        return {"correlation": found, "correlation_square": found**2}

    def _pooled(self, batch: Batch) -> dict[str, np.ndarray]:
        """Sums for the paper's correlation, whose climatology is the mean of the truth itself."""
        forecast, truth = batch.mean - self.normal, batch.truth - self.normal
        weights = by_cosine(self.lat)
        return {
            "product": self._mean(forecast * truth, weights),
            "forecast_square": self._mean(forecast**2, weights),
            "truth_square": self._mean(truth**2, weights),
            "forecast_map": forecast,
            "truth_map": truth,
        }

    def _waves(self, batch: Batch) -> dict[str, np.ndarray]:
        """Of the single members: the mean of an ensemble is smooth rightly."""
        members = zonal_spectrum(batch.draws, self.lat).mean(axis=2)
        return {"spectrum": members, "truth_spectrum": zonal_spectrum(batch.truth, self.lat)}

    def _ensemble(self, batch: Batch) -> dict[str, np.ndarray]:
        draws = torch.from_numpy(np.moveaxis(batch.draws, 2, 0))
        weights = by_area(self.lat)
        crps = ensemble.crps(draws, torch.from_numpy(batch.truth)).numpy()
        return {"crps": self._mean(crps, weights), "variance": self._mean(ensemble.variance(draws).numpy(), weights)}
