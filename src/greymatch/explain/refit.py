"""The physics completed with what was found, as a model of its own: nothing is left to train.

With no residual, the parameters of a window are all there is to find, and the window tells them itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from greymatch.data.noise import assumed_noise, with_noise
from greymatch.data.trajectories import Trajectories
from greymatch.explain.settle import few, settle, untrained
from greymatch.models.greybox import GreyBox
from greymatch.models.share import kept_share
from greymatch.training.calibration import calibrate_forecasts, calibrate_misfit, judge_of_ensembles
from greymatch.training.certainty import calibrate_parameters
from greymatch.training.factors import LEAST_NOISE
from greymatch.training.validation import Validator

if TYPE_CHECKING:
    from greymatch.explain.explanation import Explanation


def refit(explanation: Explanation, data: Trajectories, validation: Trajectories) -> GreyBox:
    """Priors of the new coefficients from `data`, spreads judged on `validation`."""
    settings = explanation.settings
    data, validation = with_noise(assumed_noise(settings.data.noise, data), data, validation)
    settled = settle(explanation.completed, explanation.priors, settings, data)
    physics = explanation.completed(settled.priors)
    # members carry it, as far as validation data show: with nothing to carry, an ensemble cannot be as wide as they do
    network = untrained(physics, settings, few(data), settled.noise.clamp_min(LEAST_NOISE))
    error = Validator.of(validation, settings.window).error(network)
    judge = judge_of_ensembles(validation, settings.window, error.scaled)
    coverage = calibrate_forecasts(network, judge).coverage
    calibrate_parameters(network, validation)
    calibrate_misfit(network, data, validation)
    record = {
        "steps": 0,
        "validation_error": error.scaled,
        "validation_coverage": coverage,
        "noise": settled.noise.tolist(),
        "trajectories": {"train": len(data), "validation": len(validation)},
        "physics_share": kept_share(network, data),
    }
    return GreyBox(physics, network.eval(), record)
