"""A forecast beside those that know little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from greymatch.weather import references
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.labelled import Predictor
from greymatch.weather.scores import evaluate


@dataclass(frozen=True, eq=False)
class Court:
    """Who is judged here is judged by the same starts, leads and climatology, that of the training years."""

    train: Archive
    test: Archive
    usual: Climatology
    leads: Sequence[int]
    starts: np.ndarray

    @staticmethod
    def of(train: Archive, test: Archive, leads: Sequence[int], starts: np.ndarray) -> Court:
        return Court(train, test, Climatology.of(train), leads, starts)

    def judge(self, predict: Predictor) -> xr.Dataset:
        return evaluate(predict, self.test, self.usual, self.leads, self.starts)

    def references(self) -> dict[str, Predictor]:
        return {
            "persistence": references.persistence(self.test, self.leads),
            "damped": references.damped_persistence(self.test, self.train, self.usual, self.leads),
            "climatology": references.climatology(self.test, self.usual, self.leads),
        }
