"""The physics completed with what was found, as a model of its own: nothing is left to train.

With no residual, the parameters of a window are all there is to find, and the window tells them itself.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from greymatch.data.noise import assumed_noise, with_noise
from greymatch.data.trajectories import Trajectories
from greymatch.explain.settle import few, settle, untrained
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.models.share import kept_share
from greymatch.training.calibration import calibrate_forecasts, calibrate_misfit, judge_of_ensembles
from greymatch.training.certainty import calibrate_parameters
from greymatch.training.factors import LEAST_NOISE
from greymatch.training.validation import Validator

if TYPE_CHECKING:
    from greymatch.explain.explanation import Explanation

WORSE = 2.0  # times, from which on a refitted model is not what the terms were read from
SOLVED = 1e-8  # error of a forecast that is good whatever it was before


class FitNotLawWarning(UserWarning):
    """A physics completed with terms that only come near what is missing."""


def refit(explanation: Explanation, data: Trajectories, validation: Trajectories) -> GreyBox:
    """Priors of the new coefficients from `data`, spreads judged on `validation`."""
    settings = explanation.settings
    data, validation = with_noise(assumed_noise(settings.data.noise, data), data, validation)
    settled = settle(explanation.completed, explanation.priors, settings, data)
    physics = explanation.completed(settled.priors)
    # members carry it, as far as validation data show: with nothing to carry, an ensemble cannot be as wide as they do
    network = untrained(physics, settings, few(data, settings.window), settled.noise.clamp_min(LEAST_NOISE))
    error = Validator.of(validation, settings.window).error(network)
    judge = judge_of_ensembles(validation, settings.window, error.scaled)
    coverage = calibrate_forecasts(network, judge).coverage
    calibrate_parameters(network, validation, data)
    _doubted(network, explanation.doubts)
    calibrate_misfit(network, data, validation)
    _warn_of_a_fit(explanation, error.scaled)
    record = {
        "steps": 0,
        "validation_error": error.scaled,
        "validation_coverage": coverage,
        "noise": settled.noise.tolist(),
        "trajectories": {"train": len(data), "validation": len(validation)},
        "physics_share": kept_share(network, data),
    }
    return GreyBox(physics, network.eval(), record)


def _doubted(network: Network, doubts: Mapping[str, float]) -> None:
    """What the model knew not to know of a parameter, the terms that were read from it do not know either."""
    before = torch.tensor([doubts.get(name, 0.0) for name in network.physics.free]).to(network.blind)
    network.blind.copy_(torch.maximum(network.blind, before))


def _warn_of_a_fit(explanation: Explanation, error: float) -> None:
    """Where the terms forecast much worse than what they were read from, they are not what was missing."""
    before = explanation.error
    if before is None or not math.isfinite(before) or error <= max(WORSE * before, SOLVED):
        return
    warnings.warn(
        f"the refitted physics forecasts validation data with an error of {error:.2g}, and the model that was "
        f"explained with {before:.2g}: the terms found are a fit, not what is missing, and the parameters and "
        "intervals of the refitted model mean little. Keep the model, or let what is missing depend on more "
        "(residual.among, more data).",
        FitNotLawWarning,
        stacklevel=4,
    )
