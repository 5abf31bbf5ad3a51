"""What every test shares: one thread, one seed, no screen."""

from __future__ import annotations

import os
import random

import hypothesis
import numpy as np
import pytest
import torch

os.environ["MPLBACKEND"] = "Agg"
torch.set_num_threads(1)  # the tests run in parallel processes already

# No deadline: a loaded machine is not a failure. Derandomised: a failure here is a failure everywhere.
hypothesis.settings.register_profile("greymatch", deadline=None, derandomize=True)
hypothesis.settings.load_profile("greymatch")


@pytest.fixture
def seed() -> int:
    """Seed every global generator, and give the seed for the generators a test makes itself."""
    value = 20240
    random.seed(value)
    np.random.seed(value)  # noqa: NPY002 - the legacy generator is the one that is global
    torch.manual_seed(value)
    return value
