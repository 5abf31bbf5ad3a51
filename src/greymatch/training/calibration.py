"""How much wider the posterior must be for its forecasts to cover what they promise."""

from __future__ import annotations

from greymatch.models.network import Network
from greymatch.training.validation import Validator

LEVEL = 0.9
DRAWS = 24
NARROWEST, WIDEST = 0.25, 16.0
HALVINGS = 6


def calibrate(network: Network, validator: Validator) -> float:
    """Set `network.widening` so that 90 % intervals of validation forecasts cover 90 % of the observations.

    Amortised posteriors are overconfident: they take a window's errors as independent. One factor on all latent
    standard deviations, found by bisection on trajectories not trained on, makes up for it. Returns the coverage.
    """
    low, high = NARROWEST, WIDEST
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        network.widening.fill_(middle)
        low, high = (middle, high) if validator.coverage(network, LEVEL, DRAWS) < LEVEL else (low, middle)
    network.widening.fill_((low * high) ** 0.5)
    return validator.coverage(network, LEVEL, DRAWS)
