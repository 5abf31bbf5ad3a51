"""PhysVAE's encoder: theta is read off the window after what the physics does not explain was taken out of it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from greymatch.models.blocks import ZeroLinear, mlp
from greymatch.models.encoder import Encoder, Shapes
from greymatch.models.features import Features
from greymatch.models.latents import Encoded, Gaussian, Latents
from greymatch.settings import EncoderSettings

SMALLER = 4  # than the encoder's width: cleansing is one small net for all points of the window


class CleansingEncoder(nn.Module):
    """q(z | x) q(theta | cleansed x), cleansed x = x + c(x, z): theta depends on z through the cleansing alone.

    The correction c, in units of the data and of the window's amplitude, is that of the values along the window;
    velocities and the summary stay those of the window. It starts at zero.
    """

    def __init__(self, shapes: Shapes, states: int, settings: EncoderSettings) -> None:
        super().__init__()
        self.plain = Encoder(shapes, settings)
        self.states, self.axes = states, len(shapes.grid)
        width = max(1, settings.width // SMALLER)
        self.hidden = mlp([shapes.channels + shapes.summary + settings.latents, width, width])
        self.out = ZeroLinear(width, states)

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
        features = Features(*(part.repeat(copies, *(1,) * (part.ndim - 1)) for part in features))
        z_law = self.plain.law_of_z(self.plain.seen(features), features).widened(widening)
        z = z_law.sample(generator, copies) if sample else z_law.mean
        eps_law = self.of_physics(self.cleansed(features, z)).widened(widening)
        eps = eps_law.sample(generator, copies) if sample else eps_law.mean
        return Encoded(Latents(eps, z), z_law, eps_law)

    def of_physics(self, features: Features) -> Gaussian:
        """q(theta | x) for a window that the physics alone explains."""
        nothing = features.summary.new_zeros(len(features.summary), self.plain.latents)
        return self.plain.law_of_eps(self.plain.seen(features), features, nothing)

    def cleansed(self, features: Features, z: Tensor) -> Features:
        values, rest = features.sequence.split([self.states, features.sequence.shape[2] - self.states], 2)
        return features._replace(sequence=torch.cat([values + self.correction(features, z), rest], 2))

    def correction(self, features: Features, z: Tensor) -> Tensor:
        """What is added to the values (B, W, S, *grid); nothing where the window holds no point."""
        sequence = features.sequence.movedim(2, -1)
        whole = torch.cat([features.summary, z], -1)
        whole = whole.reshape(len(whole), *(1,) * (sequence.ndim - 2), -1).expand(*sequence.shape[:-1], -1)
        out = self.out(self.hidden(torch.cat([sequence, whole], -1))).movedim(-1, 2)
        return out * features.seen(self.states)
