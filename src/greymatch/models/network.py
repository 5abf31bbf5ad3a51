"""All that is learned: the encoder and the field, with the scales they stand on."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, last_window, longest_windows
from greymatch.methods import method_named
from greymatch.models.dynamics import Dynamics
from greymatch.models.encoder import Encoder, Shapes
from greymatch.models.features import Features, window_features
from greymatch.models.latents import Encoded, Latents, Members
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

NUMBERS_AT_ONCE = 2**26  # of the features, when many draws are encoded


class Network(nn.Module):
    """Encoder q(z | x) q(theta | x, z) and field f(x, theta) o r(x | z), built from settings and scales.

    `noise` (S,) is the relative error of the highest derivative that matching left unexplained; `widening` the
    factor by which validation forecasts ask it and the posterior's standard deviations to grow. `doubt` (L,) is
    that of the parameters by themselves, which a forecast does not see where the residual makes up for them.
    """

    widening: Tensor
    doubt: Tensor
    noise: Tensor

    def __init__(self, physics: Physics, settings: Settings, scales: Scales, shapes: Shapes) -> None:
        super().__init__()
        self.physics = method_named(settings.method).known(physics)
        self.settings = settings
        self.shapes = shapes
        for name, value in scales.tensors().items():
            self.register_buffer(f"scale_{name}", value.clone(), persistent=False)
        self.register_buffer("widening", torch.ones(()))
        self.register_buffer("doubt", torch.ones(shapes.free))
        self.register_buffer("noise", torch.zeros(len(physics.states)))
        self.encoder = Encoder(shapes, settings.encoder)
        self.dynamics = Dynamics(self.physics, scales, settings.encoder.latents, settings.residual)

    @staticmethod
    def fitting(physics: Physics, settings: Settings, scales: Scales, window: Window) -> Network:
        """A network whose shapes fit this window's features."""
        known = method_named(settings.method).known(physics)
        seen = _features(known, settings, scales, window)
        shapes = Shapes(
            window=settings.window,
            channels=seen.sequence.shape[2],
            grid=tuple(seen.sequence.shape[3:]),
            summary=seen.summary.shape[1],
            free=len(known.free),
        )
        return Network(physics, settings, scales, shapes)

    @property
    def scales(self) -> Scales:
        return Scales(**{name[6:]: value for name, value in self.named_buffers() if name.startswith("scale_")})

    def features(self, window: Window) -> Features:
        """What the encoder sees of windows of any one length up to the settings' window."""
        return _features(self.physics, self.settings, self.scales, window).padded(self.settings.window)

    def observe(self, history: Trajectories) -> Features:
        """Features of the end of each history, of the longest window that it fills."""
        fitting = longest_windows(history, self.settings.lengths)
        parts = [self.features(last_window(history.select(rows), length)) for length, rows in fitting]
        back = torch.cat([rows for _, rows in fitting]).argsort()
        return Features(*(torch.cat(part)[back] for part in zip(*parts, strict=True)))

    def encode(self, features: Features, generator: torch.Generator | None, sample: bool = True) -> Encoded:
        """The posterior as training sees it."""
        return self.encoder(features, generator, sample)

    def central(self, features: Features) -> Members:
        """One member for each window: the posterior's means, and no error of the field."""
        latents = self.encoder(features, None, sample=False).latents
        return Members(latents, torch.zeros_like(features.amplitude))

    def draw(self, features: Features, draws: int, generator: torch.Generator | None) -> Members:
        """Members (draws * B), draw after draw, from the calibrated posterior; a single draw is the central one."""
        if draws == 1:
            return self.central(features)
        latents = self._latents(features, draws, generator, self.widening)
        size = self.widening * self.noise * self.dynamics.scales_top * features.amplitude
        noise = torch.randn((draws, *size.shape), generator=generator, device=size.device)
        return Members(latents, (noise * size).flatten(0, 1))

    def draw_parameters(self, features: Features, draws: int, generator: torch.Generator | None) -> Tensor:
        """Latent coordinates (draws, B, L) of the parameters from their own posterior; a single draw is its mean."""
        if draws == 1:
            return self.central(features).latents.eps[None]
        eps = self._latents(features, draws, generator, widening=1.0).eps
        eps = eps.reshape(draws, len(features.summary), self.shapes.free)
        middle = eps.mean(0, keepdim=True)
        return middle + self.doubt * (eps - middle)

    def _latents(
        self, features: Features, draws: int, generator: torch.Generator | None, widening: Tensor | float
    ) -> Latents:
        """Draws from the widened posterior, in chunks; a deterministic method has only its means."""
        if not method_named(self.settings.method).variational:
            return self.central(features).latents.repeated(draws)
        parts = []
        at_once = max(1, NUMBERS_AT_ONCE // features.sequence.numel())
        for first in range(0, draws, at_once):
            copies = min(at_once, draws - first)
            many = Features(*(part.repeat(copies, *(1,) * (part.ndim - 1)) for part in features))
            parts.append(self.encoder(many, generator, widening=widening).latents)
        return Latents(torch.cat([part.eps for part in parts]), torch.cat([part.z for part in parts]))


def _features(physics: Physics, settings: Settings, scales: Scales, window: Window) -> Features:
    return window_features(physics, window, scales, settings.encoder.stencil, settings.matching.amplitude_floor)
