"""What every test shares: one thread, one seed, no screen."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.settings import Settings
from greymatch.systems import pendulum
from greymatch.training.fit import fit

os.environ["MPLBACKEND"] = "Agg"
torch.set_num_threads(1)  # the tests run in parallel processes already

# No deadline: a loaded machine is not a failure. Derandomised: a failure here is a failure everywhere.
hypothesis.settings.register_profile("greymatch", deadline=None, derandomize=True)
hypothesis.settings.load_profile("greymatch")


def pytest_configure(config: pytest.Config) -> None:
    # forward-mode differentiation makes PyTorch load decompositions that it scripts itself
    config.addinivalue_line("filterwarnings", "ignore:.torch.jit.script. is deprecated:DeprecationWarning")


@pytest.fixture
def seed() -> int:
    """Seed every global generator, and give the seed for the generators a test makes itself."""
    value = 20240
    random.seed(value)
    np.random.seed(value)  # noqa: NPY002 - the legacy generator is the one that is global
    torch.manual_seed(value)
    return value


@pytest.fixture(scope="session")
def swings() -> tuple[Trajectories, Trajectories]:
    """Damped pendulums, 48 to learn from and 24 to be judged on, 6 seconds each at 10 Hz."""
    return pendulum.data("train", trajectories=48).first(60), pendulum.data("test", trajectories=24).first(60)


@pytest.fixture(scope="session")
def small_settings() -> Settings:
    """Small nets and batches: a step takes a few milliseconds."""
    small = {"encoder.width": 32, "residual.width": 32, "training.batch": 64, "training.validations": 4}
    return Settings(window=10).updated({**small, "training.ema": 0.99, "training.rate": 5e-3})


@pytest.fixture(scope="session")
def small_model(swings: tuple[Trajectories, Trajectories], small_settings: Settings) -> GreyBox:
    """A pendulum fitted in a few seconds, with a history of 10 points: good enough to beat the trivial forecasts."""
    return fit(pendulum.physics, swings[0], settings=small_settings, steps=400, quiet=True)


@pytest.fixture(scope="session")
def recording() -> Callable[..., Trajectories]:
    """`recording(times, values, labels=None, **more)` from nested lists or tensors; NaN is a gap."""
    return _recording


def _recording(times: object, values: object, labels: object = None, **more: Any) -> Trajectories:
    clock = torch.as_tensor(times, dtype=torch.float64)
    array = torch.as_tensor(values)
    clock = clock.repeat(len(array), 1) if clock.ndim == 1 else clock
    array = array[..., None] if array.ndim == 2 else array
    names = tuple(f"x{i}" for i in range(array.shape[2]))
    chosen = np.arange(len(array)) if labels is None else np.asarray(labels)
    seen = array.isfinite()
    return Trajectories(names, clock, array.nan_to_num(nan=0.0), seen, chosen, **more)
