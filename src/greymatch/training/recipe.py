"""What a kind of learning needs beside the shared loop: batches, and the loss they meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.matching.next_point import NextPointObjective
from greymatch.matching.objective import Objective as MatchingObjective
from greymatch.matching.path import AnyPath
from greymatch.methods import Kind, method_named
from greymatch.models.features import Features
from greymatch.models.network import Network
from greymatch.simulation.objective import Objective as SimulationObjective
from greymatch.simulation.physvae import PhysVaeObjective
from greymatch.training.pairs import Pairs
from greymatch.training.sampler import Sampler as MatchingSampler
from greymatch.training.segments import Segments
from greymatch.training.settling import Settling


class Batch(Protocol):
    """What every batch holds: the encoder's view of B windows, and whose windows they are (B,)."""

    @property
    def features(self) -> Features: ...

    @property
    def rows(self) -> Tensor: ...


class Terms(Protocol):
    """A loss, a named tuple of its terms: `total` is minimised, `errors` (C,) drive the noise."""

    @property
    def total(self) -> Tensor: ...

    @property
    def errors(self) -> Tensor: ...

    def _asdict(self) -> dict[str, Any]: ...


def numbers(loss: Terms) -> dict[str, float]:
    """Every term that a loss has, as a number."""
    return {name: float(value.detach().mean()) for name, value in loss._asdict().items() if value is not None}


class Sampler(Protocol):
    """Draws batches; `labels` name the trajectories that a batch's rows number."""

    @property
    def labels(self) -> np.ndarray: ...

    def draw(self, count: int, generator: torch.Generator) -> Any: ...


class Objective(Protocol):
    """A module that gives the loss of a batch; `channels` errors are weighed, each by a noise of its own.

    `counts` are what means over a batch are over, beside its rows, each of which counts as much; None for nothing. Who
    asks for the loss of a part tells these of the whole batch, on the mean of its parts.
    """

    @property
    def channels(self) -> int: ...

    def counts(self, batch: Any, /) -> Tensor | None: ...

    def __call__(self, batch: Any, noise: Tensor, generator: torch.Generator | None, *counts: Tensor) -> Terms: ...


class Recipe(NamedTuple):
    """`solves`: the errors are those of states that were solved for, not of derivatives."""

    sampler: Sampler
    objective: Objective
    settling: Settling | None = None
    solves: bool = False


def _matching(network: Network, data: Trajectories, path: AnyPath) -> Recipe:
    sampler, objective = MatchingSampler.of(network, data, path), MatchingObjective(network)
    return Recipe(sampler, objective, Settling.of(network, data, sampler, objective))


def _next_point(network: Network, data: Trajectories, path: AnyPath) -> Recipe:
    return Recipe(Pairs.of(network, data), NextPointObjective(network))


def _simulation(network: Network, data: Trajectories, path: AnyPath) -> Recipe:
    return Recipe(Segments.of(network, data, regularised=False), SimulationObjective(network), solves=True)


def _regularised(network: Network, data: Trajectories, path: AnyPath) -> Recipe:
    return Recipe(Segments.of(network, data, regularised=True), PhysVaeObjective(network), solves=True)


RECIPES: dict[Kind, Callable[[Network, Trajectories, AnyPath], Recipe]] = {
    "matching": _matching,
    "next-point": _next_point,
    "simulation": _simulation,
    "regularised": _regularised,
}


def recipe(network: Network, data: Trajectories, path: AnyPath) -> Recipe:
    """The sampler, the objective and the end of the network's method."""
    return RECIPES[method_named(network.settings.method).objective](network, data, path)
