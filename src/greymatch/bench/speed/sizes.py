"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """`steps` of training a turn, of `trajectories`; whole fits of so many seconds; a store of `stored` trajectories; a
    forecast of `draws` for `forecasts` trajectories; `rows` of tables; `doublings` of each size by which cost may
    grow."""

    turns: int = 5
    steps: int = 6
    trajectories: int | None = 200
    fit_seconds: float = 120.0  # validation and settling, done a fixed number of times, are then as much as in a preset
    fit_turns: int = 1
    stored: int = 1000
    draws: int = 1000
    forecasts: int = 100
    model_steps: int = 300
    forecast_turns: int = 2
    rows: int = 200_000
    doublings: int = 4
    starts: int = 2


WHOLE = Sizes()
QUICK = Sizes(
    turns=3, steps=8, trajectories=100, fit_seconds=2.0, fit_turns=1, stored=200, draws=100, model_steps=100,
    rows=50_000, doublings=2, starts=1,
)  # fmt: skip
