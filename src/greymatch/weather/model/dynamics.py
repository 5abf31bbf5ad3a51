"""du/dt = -div(u v) + s, with velocity v and source s learned."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.weather.model.attention import Latent, TemporalEncoder
from greymatch.weather.model.net import Net, possible_halvings
from greymatch.weather.model.surroundings import Surroundings
from greymatch.weather.model.transport import USUAL_WIND, carried, limited, slopes
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.sphere import polar_filtered


class Rate(NamedTuple):
    """The parts of du/dt (B, C, lat, lon) in units of spread per hour, the winds in m/s, if any carry, and the law of
    the latents."""

    carried: Tensor
    source: Tensor
    east: Tensor | None
    north: Tensor | None
    latent: Latent

    @property
    def total(self) -> Tensor:
        return self.carried + self.source


class Dynamics(nn.Module):
    """du/dt = -div(u v(u, grad u, z, psi)) + s(u, grad u, z, psi), a velocity for each field.

    The black-box has the same networks with the same inputs, and mixes what would be winds into more of the source: so
    both have one size, and differ by the transport alone.
    """

    flips: Tensor

    def __init__(self, settings: WeatherSettings, surroundings: Surroundings, flips: Tensor, step: float) -> None:
        super().__init__()
        net, fields = settings.net, len(flips)
        halvings = possible_halvings(net.halvings, *surroundings.longitude.shape)
        self.settings, self.substep = settings, step / settings.transport.substeps
        self.step, self.surroundings = step, surroundings
        self.register_buffer("flips", flips, persistent=False)
        self.encoder = TemporalEncoder(fields, net.history, net.latents, net.heads, net.variational)
        # slopes change their sign beyond a pole, and those of components do so twice
        seen = torch.cat([flips, -flips, -flips, torch.ones(net.latents + Surroundings.count)])
        self.velocity = Net(seen, 2 * fields, net.width, net.depth, halvings)
        self.source = Net(seen, fields, net.source_width, net.depth, halvings)
        self.mix = nn.Conv2d(2 * fields, fields, 1) if settings.method == "black-box" else None

    def forward(
        self, hours: Tensor, state: Tensor, past: Tensor, since: Tensor, unit: Tensor, noise: Tensor | None
    ) -> Rate:
        """At `hours` (B,) since 2000, for states (B, C, lat, lon) in units of spread, after past ones (B, h + 1, ...).

        `since` (B,) is the part of the step that is over; `unit` (C, 1, 1) the usual rate, which sources count in;
        `noise` (B, latents, lat, lon) draws the latents, if they are drawn.
        """
        differences = slopes(state, self.flips)
        latent = self.encoder(state, past.diff(dim=1) / (unit * self.step))
        latents = latent.drawn(noise).to(state)
        seen = self._laid_out(torch.cat([state, *differences, latents, self.surroundings(hours, since)], 1))
        winds, source = self.velocity(seen).to(state), unit * self.source(seen).to(state)
        if self.mix is not None:
            return Rate(polar_filtered(unit * self.mix(winds).to(state)), polar_filtered(source), None, None, latent)
        east, north = (USUAL_WIND * winds).chunk(2, 1)
        transport = self.settings.transport
        east, north = limited(east, north, self.substep, transport.courant)
        moved = carried(state, differences, east, north, transport.form)
        return Rate(polar_filtered(moved), polar_filtered(source), east, north, latent)

    def _laid_out(self, maps: Tensor) -> Tensor:
        last = self.settings.training.channels_last
        return maps.contiguous(memory_format=torch.channels_last) if last else maps
