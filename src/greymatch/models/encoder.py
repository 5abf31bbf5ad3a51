"""The posterior encoder: a window's features to q(z | x) and q(theta | x, z)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from greymatch.models.blocks import ZeroLinear, convolution, mlp
from greymatch.models.features import Features
from greymatch.models.latents import Encoded, Gaussian, Latents
from greymatch.settings import EncoderSettings

FIRST_LOG_STD = -2.0


@dataclass(frozen=True)
class Shapes:
    """What an encoder must fit: window length, channels and grid of the sequence, size of the summary."""

    window: int
    channels: int
    grid: tuple[int, ...]
    summary: int
    free: int


class Encoder(nn.Module):
    """q(z | x) = N(mu(x), sigma(x)); q(eps | x, z) = N(mu'(x, z), sigma'(x, z)), theta = push(eps).

    A trunk (MLP, GRU or convolutional) reads the sequence; the summary, which holds the normal equations of
    the physics, reaches the heads directly.
    """

    def __init__(self, shapes: Shapes, settings: EncoderSettings) -> None:
        super().__init__()
        self.latents, self.structured = settings.latents, settings.structured
        self.trunk = TRUNKS[settings.kind](shapes, settings)
        seen = settings.width + shapes.summary
        self.to_z = mlp([seen, settings.width])
        self.z_head = ZeroLinear(settings.width + shapes.summary, 2 * settings.latents)
        self.to_eps = mlp([seen + settings.latents, settings.width])
        self.eps_head = ZeroLinear(settings.width + shapes.summary, 2 * shapes.free)

    def forward(
        self,
        features: Features,
        generator: torch.Generator | None,
        sample: bool = True,
        widening: Tensor | float = 1.0,
        copies: int = 1,
    ) -> Encoded:
        """Draws (copies * B) from the posterior, its standard deviations times `widening`, or its means with
        `sample=False`."""
        seen = self.seen(features).repeat(copies, 1)
        features = features._replace(summary=features.summary.repeat(copies, 1))
        z_law = self.law_of_z(seen, features).widened(widening)
        z = z_law.sample(generator, copies) if sample else z_law.mean
        eps_law = self.law_of_eps(seen, features, z if self.structured else torch.zeros_like(z)).widened(widening)
        eps = eps_law.sample(generator, copies) if sample else eps_law.mean
        return Encoded(Latents(eps, z), z_law, eps_law)

    def seen(self, features: Features) -> Tensor:
        """What both heads read of a window."""
        return torch.cat([self.trunk(features), features.summary], -1)

    def law_of_z(self, seen: Tensor, features: Features) -> Gaussian:
        return self._law(self.z_head, self.to_z(seen), features)

    def law_of_eps(self, seen: Tensor, features: Features, z: Tensor) -> Gaussian:
        return self._law(self.eps_head, self.to_eps(torch.cat([seen, z], -1)), features)

    @staticmethod
    def _law(head: nn.Module, hidden: Tensor, features: Features) -> Gaussian:
        mean, log_std = head(torch.cat([hidden, features.summary], -1)).chunk(2, -1)
        return Gaussian(mean, (log_std + FIRST_LOG_STD).clamp(-9, 2))


class MlpTrunk(nn.Module):
    """The whole window, flattened."""

    def __init__(self, shapes: Shapes, settings: EncoderSettings) -> None:
        super().__init__()
        size = shapes.window * shapes.channels
        for axis in shapes.grid:
            size *= axis
        self.net = mlp([size + shapes.summary] + [settings.width] * settings.depth)

    def forward(self, features: Features) -> Tensor:
        return self.net(torch.cat([features.sequence.flatten(1), features.summary], -1))


class GruTrunk(nn.Module):
    """The window point by point; the last hidden state."""

    def __init__(self, shapes: Shapes, settings: EncoderSettings) -> None:
        super().__init__()
        size = shapes.channels
        for axis in shapes.grid:
            size *= axis
        self.net = nn.GRU(size, settings.width, settings.depth, batch_first=True)

    def forward(self, features: Features) -> Tensor:
        return self.net(features.sequence.flatten(2))[0][:, -1]


class ConvTrunk(nn.Module):
    """Convolutions over the grid, halving it each time (or, without one, over time), then the mean over all points."""

    def __init__(self, shapes: Shapes, settings: EncoderSettings) -> None:
        super().__init__()
        self.axes = len(shapes.grid)
        first = shapes.channels * shapes.window if self.axes else shapes.channels
        sizes = [first] + [settings.width] * settings.depth
        padding, stride = ("circular", 2) if self.axes else ("replicate", 1)
        layers: list[nn.Module] = []
        for inner, outer in itertools.pairwise(sizes):
            layers += [convolution(max(self.axes, 1), inner, outer, 3, padding, stride), nn.SiLU()]
        self.net = nn.Sequential(*layers)

    def forward(self, features: Features) -> Tensor:
        sequence = features.sequence
        stacked = sequence.flatten(1, 2) if self.axes else sequence.mT
        return self.net(stacked).flatten(2).mean(-1)


TRUNKS: dict[str, type[MlpTrunk] | type[GruTrunk] | type[ConvTrunk]] = {
    "mlp": MlpTrunk,
    "gru": GruTrunk,
    "conv": ConvTrunk,
}
