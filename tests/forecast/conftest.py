"""Recordings and forecasts to judge, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.forecast.forecast import Forecast
from greymatch.systems import pendulum

Cast = Callable[..., Forecast]


@pytest.fixture(scope="session")
def test_split() -> Trajectories:
    return pendulum.data("test")


@pytest.fixture(scope="session")
def swings(test_split: Trajectories) -> Trajectories:
    return test_split.select(slice(5))


@pytest.fixture(scope="session")
def cast() -> Cast:
    """`cast(draws, times, start=0.0, labels=None, **more)`: a forecast of states x0, x1, ..."""
    return _cast


def _cast(draws: object, times: object, start: object = 0.0, labels: object = None, **more: Any) -> Forecast:
    array = torch.as_tensor(draws)
    array = array[..., None] if array.ndim == 3 else array
    clock = torch.as_tensor(times, dtype=torch.float64)
    count = array.shape[1]
    clock = clock.repeat(count, 1) if clock.ndim == 1 else clock
    settings: dict[str, Any] = {
        "states": tuple(f"x{i}" for i in range(array.shape[3])),
        "labels": np.arange(count) if labels is None else np.asarray(labels),
        "start": torch.as_tensor(start, dtype=torch.float64).expand(count),
        "status": torch.zeros(array.shape[:2], dtype=torch.long),
    }
    return Forecast(draws=array, times=clock, **(settings | more))
