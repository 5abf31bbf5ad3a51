"""Before networks learn: the numbers of what is known, by least squares."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.training.sampler import Sampler

BATCH, EXAMPLES, OF_EACH, SEED = 32, 768, 4, 0  # no more examples than a few of each pair of states


@torch.no_grad()
def set_out(network: WeatherNetwork, sampler: Sampler) -> None:
    """Fit what the networks set out from to points of the paths that they learn from."""
    network.dynamics.outset.fit(_examples(network, sampler))


def _examples(network: WeatherNetwork, sampler: Sampler) -> Iterator[tuple[Tensor, Tensor]]:
    dynamics, generator = network.dynamics, torch.Generator(network.center.device).manual_seed(SEED)
    count = min(EXAMPLES, OF_EACH * len(sampler.states.starts))
    for _ in range(-(-count // BATCH)):
        sample = sampler.draw(BATCH, generator)
        matched, hours = sample.matched, sample.matched.time[:, 0]
        around = dynamics.surroundings(hours, (hours - sample.began) / network.shape.hours)
        now = dynamics.outset.of_now(matched.position[:, 0], around)
        then = dynamics.outset.of_the_past(sample.past, sample.past.diff(dim=1) / (network.unit * network.shape.hours))
        yield torch.cat([now, then], 1), matched.velocity[:, 0] / network.unit
