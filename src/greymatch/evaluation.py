"""A model judged on trajectories it has not seen, beside the trivial references."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from greymatch.data.checks import shown
from greymatch.data.trajectories import Trajectories
from greymatch.diagnostics.calibration import Calibration
from greymatch.diagnostics.gather import calibration_of
from greymatch.errors import GreymatchError
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.posterior import Posterior
from greymatch.forecast.references import hold, physics_only, time_mean, true_mean, zero
from greymatch.forecast.scores import Scores, score
from greymatch.models.greybox import GreyBox
from greymatch.models.seen import Seen
from greymatch.systems.system import System

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.9
PARAMETERS, PARAMETERS_OF_FIELDS = 1000, 100  # draws; each may ask for a whole window anew, and fields are large
FIELDS = 20  # that tell the physics' share as well as more of them would


@dataclass(frozen=True)
class Evaluation:
    """Forecast, scores and parameters of a model on `test`, of which each trajectory's first `given` points are shown.

    `references` are keyed by name, in the order of the honest table; `share` is that of `GreyBox.physics_share`. `seen`
    is what the model made of the `history`, for whoever asks it for more.
    """

    model: GreyBox
    test: Trajectories
    history: Trajectories
    seen: Seen
    forecast: Forecast
    scores: Scores
    references: dict[str, Scores]
    posterior: Posterior | None
    share: dict[str, dict[str, float]]

    def table(self) -> pd.DataFrame:
        """The honest table: one row for the model and one for each reference, best first."""
        import pandas as pd

        rows = {self.model.settings.method: self.scores} | self.references
        columns = ("mse", "rmse", "mae", "nmse", "crps", "coverage")
        frame = pd.DataFrame({name: {c: getattr(s, c) for c in columns} for name, s in rows.items()}).T
        return frame.sort_values("mse")

    @property
    def best_reference(self) -> str:
        return min(self.references, key=lambda name: self.references[name].mse)

    @property
    def beats_references(self) -> bool:
        """Whether the forecast's MSE lies below that of every reference."""
        return self.scores.mse < self.references[self.best_reference].mse

    def parameters(self) -> dict[str, dict[str, float]]:
        """For each parameter whose truth is known: RMSE, that of the prior's mean, and coverage of the intervals."""
        return {} if self.posterior is None else judged_parameters(self.model, self.test, self.posterior)

    def calibration(self) -> Calibration:
        """Whether the error bars hold what they say, of the forecast and of each parameter whose truth is known."""
        return self._calibration

    @cached_property
    def _calibration(self) -> Calibration:
        params = self.model.physics.params
        priors = {name: params[name].std for name in self.model.physics.free}
        return calibration_of(self.forecast, self.test, self.posterior, priors)


def judged_parameters(model: GreyBox, test: Trajectories, posterior: Posterior) -> dict[str, dict[str, float]]:
    """For each parameter whose truth `test` knows: RMSE, that of the prior's mean, and coverage of the intervals."""
    known = {name: test.truth[name] for name in model.physics.free if name in test.truth}
    if not known:
        return {}
    errors, covered = posterior.rmse(known), posterior.coverage(known, LEVEL)
    return {
        name: {
            "rmse": float(errors[name]),
            "prior_rmse": float(((truth - model.physics.params[name].mean) ** 2).mean() ** 0.5),
            "coverage": float(covered[name]),
        }
        for name, truth in known.items()
    }


def evaluate(
    model: GreyBox,
    test: Trajectories,
    given: int,
    train: Trajectories | None = None,
    system: System | None = None,
    draws: int = 100,
    seed: int = 0,
    truth: Trajectories | None = None,
) -> Evaluation:
    """Forecast everything after the first `given` points of `test` and score it, by `truth` if `test` is noisy.

    The per-time mean needs `train`, the true equations a built-in `system`; without them those rows are left out.
    """
    short = test.lengths <= given
    if bool(short.any()):
        raise GreymatchError(
            f"`given` must leave something to score; trajectory {shown(test.labels, int(short.nonzero()[0]))} has "
            f"{int(test.lengths[short][0])} points and {given} are given. Give fewer, or leave such trajectories out."
        )
    truth = test if truth is None else truth
    history = test.first(given)
    times = test.times[:, given:]
    seen = model.observe(history)
    forecast = model.forecast(seen, times, draws=draws, seed=seed)
    references = {"hold": hold(history, times), "zero": zero(history, times)}
    if train is not None:
        references["per-time mean"] = time_mean(train, history, times)
    references["physics only"] = physics_only(model.physics, history, times)
    if system is not None:
        references["true equations, mean parameters"] = true_mean(system, history, times)
    return Evaluation(
        model=model,
        test=test,
        history=history,
        seen=seen,
        forecast=forecast,
        scores=score(forecast, truth, LEVEL),
        references={name: score(reference, truth, LEVEL) for name, reference in references.items()},
        posterior=_posterior(model, seen, seed),
        share=model.physics_share(test.select(slice(FIELDS)) if test.grid else test),
    )


def _posterior(model: GreyBox, seen: Seen, seed: int) -> Posterior | None:
    if not model.network.physics.free:
        return None
    return model.infer(seen, draws=PARAMETERS_OF_FIELDS if seen.history.grid else PARAMETERS, seed=seed)
