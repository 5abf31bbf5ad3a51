"""Starting from another model: what of it fits a new network.

Weights of the same name and shape are reused. Where a residual has more or fewer states to see, it is reused state by
state, by their names. Between the same states the units are kept too, so that a model with the same nets begins as the
very function it starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.errors import GreymatchError
from greymatch.models.axes import Axes, moved
from greymatch.models.file import read_parts
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.models.residual import FINER
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

OF_PARAMETERS = "encoder.eps_head."
UNITS = ("states", "order", "inputs", "grid")


@dataclass(frozen=True)
class Warm:
    """What a model leaves to another: weights by name, the units they stand in, settings and described physics."""

    weights: dict[str, Tensor]
    scales: Scales
    settings: Settings
    physics: dict[str, Any]

    @staticmethod
    def of(source: GreyBox | str | Path) -> Warm:
        """From a model, or from its file; neither needs the physics it was trained with."""
        if isinstance(source, GreyBox):
            network = source.network
            return Warm(dict(network.state_dict()), network.scales, source.settings, source.physics.describe())
        if isinstance(source, str | Path):
            return Warm(*read_parts(Path(source)))
        raise GreymatchError(f"`start` must be a GreyBox or the path of its file; got {type(source).__name__}.")

    @property
    def noise(self) -> Tensor:
        """What its highest derivatives were off by, relative to the data's (S,)."""
        return self.weights["noise"]

    def scales_for(self, physics: Physics, own: Scales) -> Scales:
        """The units of the weights where they suit `physics`, else its `own`."""
        described = physics.describe()
        return self.scales if all(described[key] == self.physics.get(key) for key in UNITS) else own

    def into(self, network: Network) -> Reuse:
        """Put every weight that fits into `network`, with what single precision leaves out of it."""
        found = {name: self._fitting(name, own, network) for name, own in network.named_parameters()}
        finer = {name: own for name, own in network.named_buffers() if name.endswith(FINER)}
        for name, own in {**dict(network.named_parameters()), **finer}.items():
            mine = found[name] if name in found else self._fitting(name, own, network)
            if mine is not None:
                with torch.no_grad():
                    own.copy_(mine)
        partly = [name for name, mine in found.items() if mine is not None and mine.shape != self.weights[name].shape]
        fresh = [name for name, mine in found.items() if mine is None]
        return Reuse(tuple(name for name in found if name not in {*partly, *fresh}), tuple(partly), tuple(fresh))

    def _fitting(self, name: str, own: Tensor, network: Network) -> Tensor | None:
        """What to put for a weight; those that tell parameters only where these are the same."""
        mine, physics = self.weights.get(name), network.physics.describe()
        if mine is None or (name.startswith(OF_PARAMETERS) and physics["params"] != self.physics.get("params")):
            return None
        if mine.shape == own.shape:
            return mine
        before, after = Axes.of(self.physics, self.settings).named(name), Axes.of(physics, network.settings).named(name)
        return moved(mine, before, own, after)


@dataclass(frozen=True)
class Reuse:
    """Names of the weights taken over, wholly or for the states in common, and of those that begin anew."""

    reused: tuple[str, ...]
    partly: tuple[str, ...]
    fresh: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether the network is now the one it starts from."""
        return not (self.fresh or self.partly)

    def __str__(self) -> str:
        partly = f"; for states of the same name: {_layers(self.partly)}" if self.partly else ""
        anew = f"; anew: {_layers(self.fresh)}" if self.fresh else "; nothing begins anew"
        return f"taken from `start`: {_layers(self.reused) or 'no whole layer'}{partly}{anew}"


def _layers(names: Sequence[str]) -> str:
    """Layers, each named once: encoder.trunk.net.0, dynamics.field.heads.0."""
    return ", ".join(dict.fromkeys(name.rpartition(".")[0] for name in names))
