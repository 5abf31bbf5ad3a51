"""What a network makes of windows before anything is drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from greymatch.models.features import Features
from greymatch.models.laplace import Laplace
from greymatch.simulation.start import POINTS, Observed, Start


@dataclass(frozen=True)
class Sight:
    """What the network makes of windows: features for the encoder and, if asked of each window, its own posterior; and
    if paths were sought, how `near` they come (B,), inf where there is none. `start` is where those of noisy fields
    end."""

    features: Features
    own: Laplace | None
    near: Tensor | None = None
    start: Start | None = None

    @property
    def encoded(self) -> Sight:
        """What the encoder alone makes of them."""
        return Sight(self.features, None)

    def started(self, history: Observed, order: int, points: int = POINTS) -> Start:
        """Where forecasts of the `history` start."""
        return Start.of(history, order, points) if self.start is None else self.start


class Asked(NamedTuple):
    """What windows say themselves, as `Sight` has it, and through which of them (B,) a path goes."""

    own: Laplace
    through: Tensor
    near: Tensor | None = None
    start: Start | None = None
