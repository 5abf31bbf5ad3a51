from __future__ import annotations

import pytest

from greymatch.bench.speed.sizes import Sizes


@pytest.fixture(scope="session")
def tiny() -> Sizes:
    """So little that nothing is learned of speed, but everything is run."""
    return Sizes(
        turns=1, steps=2, trajectories=8, fit_seconds=0.2, fit_turns=1, stored=32, draws=4, forecasts=5, model_steps=3,
        forecast_turns=1, rows=2000, doublings=2, starts=1,
    )  # fmt: skip
