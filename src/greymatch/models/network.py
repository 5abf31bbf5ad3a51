"""All that is learned: the encoder and the field, with the scales they stand on."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.matching.stencils import end_velocity
from greymatch.methods import method_named
from greymatch.models.dynamics import Dynamics
from greymatch.models.encoder import Encoder, Shapes
from greymatch.models.features import Features, fill_gaps, window_features
from greymatch.models.latents import Encoded
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

START_STENCIL = 5


class Network(nn.Module):
    """Encoder q(z | x) q(theta | x, z) and field f(x, theta) o r(x | z), built from settings and scales."""

    def __init__(self, physics: Physics, settings: Settings, scales: Scales, shapes: Shapes) -> None:
        super().__init__()
        self.physics = method_named(settings.method).known(physics)
        self.settings = settings
        self.shapes = shapes
        for name, value in scales.tensors().items():
            self.register_buffer(f"scale_{name}", value.clone(), persistent=False)
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
        return Scales(
            **{name[6:]: value for name, value in self.named_buffers() if name.startswith("scale_")}
        )

    def features(self, window: Window) -> Features:
        return _features(self.physics, self.settings, self.scales, window)

    def encode(self, features: Features, generator: torch.Generator | None, sample: bool = True) -> Encoded:
        return self.encoder(features, generator, sample)


def _features(physics: Physics, settings: Settings, scales: Scales, window: Window) -> Features:
    return window_features(
        physics, window, scales, settings.encoder.stencil, settings.matching.amplitude_floor
    )


def start_phase(physics: Physics, window: Window) -> Tensor:
    """The state a forecast starts from (B, order*S, *grid): the last observation and the velocity the window shows."""
    values = fill_gaps(window).double()
    last = values[:, -1]
    if physics.order == 1:
        return last
    times = window.times - window.end[:, None]
    return torch.cat([last, end_velocity(times, values, START_STENCIL)], 1)
