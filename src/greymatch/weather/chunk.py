"""Consecutive states, ready for a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.weather.clock import EPOCH, Clock
from greymatch.weather.fields import FIELDS


@dataclass(frozen=True, eq=False)
class Chunk:
    """States (chunk, time, field, lat, lon) that follow each other, with their dates (chunk, time)."""

    names: tuple[str, ...]
    values: Tensor
    times: np.ndarray
    lat: np.ndarray
    lon: np.ndarray

    def __len__(self) -> int:
        return self.values.shape[0]

    @property
    def clock(self) -> Clock:
        return Clock.of(self.times)

    def trajectories(self) -> Trajectories:
        """The same as recordings, at times in hours since 2000-01-01 00 UTC, labelled by their first date."""
        return Trajectories(
            states=self.names,
            times=torch.as_tensor(self.clock.hours, dtype=torch.float64),
            values=self.values,
            mask=torch.ones_like(self.values, dtype=torch.bool),
            labels=np.datetime_as_string(self.times[:, 0].astype("datetime64[ns]"), unit="h"),
            grid=("lat", "lon"),
            grid_coords={"lat": self.lat, "lon": self.lon},
            units={"time": f"hours since {np.datetime_as_string(EPOCH, unit='h')}"}
            | {name: FIELDS[name].units for name in self.names if name in FIELDS},
        )
