"""Whether windows of one trajectory agree on its parameters, and whether what they agree on is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from greymatch.bench.history import short

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.models.greybox import GreyBox

WINDOWS, GRID_TRAJECTORIES = 16, 20


def consistency(model: GreyBox, test: Trajectories) -> dict[str, dict[str, Any]]:
    """By parameter: `cv` = median over trajectories of sd / |mean| over sliding windows, and the RMSE over these.

    `prior_rmse` is the error of the prior's mean on the same trajectories, `spread` that error over the mean of the
    truth: the variation that a posterior which knows nothing would have to show. The windows, at most 16, are spread
    evenly over each trajectory.
    """
    known = [name for name in model.network.physics.free if name in test.truth]
    if not known:
        return {}
    test = test.select(slice(0, GRID_TRAJECTORIES)) if test.grid else test
    found = _central(model, test)
    places = [list(model.physics.params).index(name) for name in known]
    return {
        name: _measured(model, name, found[..., i], test.truth[name]) for name, i in zip(known, places, strict=True)
    }


def _central(model: GreyBox, test: Trajectories) -> np.ndarray:
    """The posterior's centre (windows, trajectories, parameters) after each of the windows."""
    first, last = model.settings.window, int(test.lengths.min())
    ends = np.unique(np.linspace(first, last, min(WINDOWS, last - first + 1)).round().astype(int))
    return np.stack([model.infer(test.first(int(end)), draws=1).draws[0].double().numpy() for end in ends])


def _measured(model: GreyBox, name: str, found: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    prior_error = float(np.sqrt(np.mean((truth - model.physics.params[name].mean) ** 2)))
    centre = np.abs(found.mean(0)).clip(1e-12)
    return {
        "cv": short(float(np.median(found.std(0, ddof=min(1, len(found) - 1)) / centre))),
        "rmse": short(float(np.sqrt(np.mean((found - truth) ** 2)))),
        "prior_rmse": short(prior_error),
        "spread": short(prior_error / max(abs(float(truth.mean())), 1e-12)),
        "windows": len(found),
        "trajectories": len(truth),
    }
