"""Why a loss or gradient is not finite, in the user's words."""

from __future__ import annotations

import math

import numpy as np
import torch

from greymatch.data.checks import shown
from greymatch.matching.objective import Sample
from greymatch.models.network import Network
from greymatch.training.recipe import Batch, Terms, numbers


def cause(network: Network, sample: Batch, loss: Terms, labels: np.ndarray) -> str:
    """Which part of the batch first went wrong, in the user's words."""
    features = {
        "features of the window": sample.features.sequence,
        "regression on the window": sample.features.summary,
    }
    for name, value in features.items():
        bad = ~value.isfinite().flatten(1).all(1)
        if bool(bad.any()):
            return f"the {name} of trajectory {shown(labels, int(sample.rows[bad][0]))} are not finite"
    weights = [name for name, value in network.named_parameters() if not bool(value.isfinite().all())]
    if weights:
        return f"the weights {weights[0]!r} are not finite"
    if isinstance(sample, Sample) and (found := _part(network, sample, labels)):
        return found
    wrong = [name for name, value in numbers(loss).items() if not math.isfinite(value)]
    return f"the terms {wrong} are not finite for a draw from the posterior"


def _part(network: Network, sample: Sample, labels: np.ndarray) -> str | None:
    """Which part of the field went wrong at a matching point."""
    with torch.no_grad():
        latents = sample.latents(network.shapes.free)
        latents = latents or network.encode(sample.features, None, sample=False).latents
        moving = [sample.matched.position] + [sample.matched.velocity] * (network.physics.order - 1)
        points = sample.matched.time.shape[1]
        parts = network.dynamics.parts(sample.matched.time, torch.cat(moving, 2), latents.over(points), sample.inputs)
    for name, value in (("known physics", parts.physics), ("learned residual", parts.residual)):
        bad = ~value.isfinite()
        if bool(bad.any()):
            row, point, state = (int(i) for i in bad.nonzero()[0][:3])
            return (
                f"the {name} of {network.physics.states[state]!r} is not finite at t = "
                f"{float(sample.matched.time[row, point]):.6g} of trajectory {shown(labels, int(sample.rows[row]))}"
            )
    return None


def sharp(network: Network) -> str:
    """Whose gradient went wrong; the encoder's passes through the physics, the field's does not."""
    bad = [
        name for name, value in network.named_parameters() if value.grad is not None and not value.grad.isfinite().all()
    ]
    if not bad:
        return "its norm overflows"
    if all(name.startswith("encoder.") for name in bad):
        return (
            "the slope of the known physics in its parameters is not a number, as that of sqrt at 0 or of a "
            "torch.where whose other side is not finite"
        )
    return f"that of the weights {bad[0]!r}"
