"""The runs of the weather benchmark, before they are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.axes import dates
from greymatch.weather.settings import METHODS, WeatherSettings
from greymatch.weather.splits import Splits

BLOCK_DAYS = 5  # of training data that are kept or left out together


@dataclass(frozen=True)
class Run:
    """One method with one seed, learning from a `share` of the training years, on top of what suits it."""

    method: str
    seed: int
    share: float = 1.0
    changes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise GreymatchError(f"`--methods` must be among {', '.join(METHODS)}; got {self.method!r}.")
        if not 0 < self.share <= 1:
            raise GreymatchError(f"`--share` must lie in (0, 1]; got {self.share:g}.")

    @property
    def name(self) -> str:
        part = "" if self.share == 1 else f"-{self.share:g}"
        return f"{self.method}{part}-{self.seed}"

    def settings(self) -> WeatherSettings:
        """The budget counts the time of processors, so that a run is the same on a busy machine."""
        own = {"training.clock": "processor", "training.seed": self.seed}
        return WeatherSettings.suited(self.method).updated({**own, **self.changes})


def thinned(archive: Archive, share: float, splits: Splits) -> Archive:
    """The archive with only a share of its training years: blocks of days spread evenly, so that all seasons are in.

    Other years stay whole.
    """
    times = dates(archive.fields)
    training = (times.year >= splits.train[0]) & (times.year <= splits.train[1])
    block = (archive.times - archive.times[0]) // np.timedelta64(BLOCK_DAYS, "D")
    kept = ~training | (np.floor((block + 1) * share + 1e-9) > np.floor(block * share + 1e-9))
    return archive if share == 1 else replace(archive, fields=archive.fields.isel(time=np.flatnonzero(kept)))
