"""Matching for maps: velocities compared by area, each field by its own noise."""

from __future__ import annotations

from typing import NamedTuple

from torch import Generator, Tensor, nn

from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.sphere import area_weights
from greymatch.weather.training.sampler import Sample

POLES = 0.25


class Loss(NamedTuple):
    """`errors` (C,) are mean squares over the sphere, in units of the usual rate of each field."""

    total: Tensor
    matching: Tensor
    divergence: Tensor
    errors: Tensor


class Objective(nn.Module):
    """L = -E[log N(velocity; model, noise)] + KL(latents, N(0, 1)), both for each place of a map.

    The noise is what recent batches left unexplained in each field; latents that are not drawn have no divergence.
    """

    def __init__(self, network: WeatherNetwork) -> None:
        super().__init__()
        self.network = network

    @property
    def channels(self) -> int:
        return len(self.network.shape.names)

    def _weights(self, like: Tensor) -> Tensor:
        """By area, but rows next to the poles, where long forecasts go wrong first, count for some more."""
        return (area_weights(like) + POLES) / (1 + POLES)

    def counts(self, sample: Sample) -> None:
        """Every row counts as much."""

    def forward(self, sample: Sample, noise: Tensor, generator: Generator | None) -> Loss:
        matched = sample.matched
        drawn = None if generator is None else self.network.noise_for(len(sample.began), generator)
        hours, position = matched.time[:, 0], matched.position[:, 0]
        rate = self.network.rate(hours, position, sample.past, sample.began, drawn, sample.recalled)
        wrong = (rate.total - matched.velocity[:, 0]) / self.network.unit
        errors = (wrong.square() * self._weights(wrong)).mean((0, 2, 3))
        matching = 0.5 * (errors / noise).sum()
        divergence = rate.latent.divergence()
        return Loss(matching + divergence, matching, divergence, errors.detach())
