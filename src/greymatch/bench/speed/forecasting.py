"""Forecast trajectories per second, beside a torchdiffeq roll-out that is as accurate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.bench.speed.fitted import SYSTEM, asked, fitted
from greymatch.bench.speed.reference_forecast import Ensemble, plain_rollout, tight_rollout
from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.timing import Measured, in_turns
from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox

GOAL = 5.0
TOLERANCES = [10.0 ** (-n / 4) for n in range(16, 32)]
JUDGED_DRAWS = 4


@dataclass(frozen=True)
class Accuracy:
    """Errors of a roll-out against a tight one: root mean square, and the largest of any member at any time."""

    typical: float
    largest: float

    @staticmethod
    def of(found: Tensor, tight: Tensor) -> Accuracy:
        wrong = found.double() - tight
        return Accuracy(float(wrong.square().mean().sqrt()), float(wrong.abs().max()))

    def __str__(self) -> str:
        return f"{self.typical:.1e} (largest {self.largest:.1e})"


def forecasting(sizes: Sizes) -> Iterator[Measured]:
    """A large ensemble, both ways from the same members, inference included."""
    model, (history, times) = fitted(sizes.model_steps), asked(sizes.forecasts)
    own, loosest = _as_accurate(model, history, times, sizes.draws)

    def ours() -> object:
        return model.forecast(history, times, draws=sizes.draws)

    def plain() -> object:
        return plain_rollout(Ensemble.drawn(model, history, sizes.draws), times, loosest.tolerance)

    found = in_turns({"ours": ours, "plain": plain}, sizes.forecast_turns, warm=False)
    case = f"{SYSTEM}, {sizes.draws} draws x {len(history)} trajectories x {len(times)} times"
    note = f"error against a tight solution: {own} here, {loosest.accuracy} there at tolerance {loosest.tolerance:.0e}"
    yield Measured(
        "forecast", case, "trajectories / s", sizes.draws * len(history), found["ours"], found["plain"],
        "torchdiffeq, shared times", GOAL, note=note,
    )  # fmt: skip


@dataclass(frozen=True)
class Tuned:
    """A tolerance of the plain roll-out, and how accurate it is with it."""

    tolerance: float
    accuracy: Accuracy


def _as_accurate(model: GreyBox, history: Trajectories, times: Tensor, draws: int) -> tuple[Accuracy, Tuned]:
    """Our accuracy, and the loosest tolerance with which torchdiffeq's root mean square error is no larger. It is that
    of some members of the large ensemble: those of a small one would all be solved."""
    chosen = torch.arange(draws)[:: max(1, draws // JUDGED_DRAWS)]
    ensemble = Ensemble.drawn(model, history, draws).select(chosen)
    tight = tight_rollout(ensemble, times)
    forecast = model.forecast(history, times, draws=draws)
    own = Accuracy.of(forecast.draws[chosen].flatten(0, 1), tight)
    return own, loosest(lambda tolerance: Accuracy.of(plain_rollout(ensemble, times, tolerance), tight), own)


def loosest(tried: Callable[[float], Accuracy], own: Accuracy) -> Tuned:
    """The first of ever tighter tolerances that is as accurate, or the last one."""
    for tolerance in TOLERANCES[:-1]:
        accuracy = tried(tolerance)
        if accuracy.typical <= own.typical:
            return Tuned(tolerance, accuracy)
    return Tuned(TOLERANCES[-1], tried(TOLERANCES[-1]))
