"""du/dt = -div(u v) + s, with velocity v and source s learned."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.weather.model.attention import Latent, TemporalEncoder
from greymatch.weather.model.known import Known
from greymatch.weather.model.net import Net, outs, possible_halvings
from greymatch.weather.model.outset import Outset
from greymatch.weather.model.surroundings import Surroundings
from greymatch.weather.model.transport import USUAL_WIND, carried, limited, slopes
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.sphere import polar_filtered


class Moment(NamedTuple):
    """`hours` (B,) since 2000, the part `since` (B,) of the step that is over, and what is `recalled` in it."""

    hours: Tensor
    since: Tensor
    recalled: Tensor | None = None


class Rate(NamedTuple):
    """du/dt (B, C, lat, lon) in units of spread per hour, the winds that carry the fields in m/s, if any do, and the
    law of the latents."""

    total: Tensor
    east: Tensor | None
    north: Tensor | None
    latent: Latent


class Dynamics(nn.Module):
    """du/dt = r(u, past) - div(u v(u, grad u, z, psi)) + s(u, grad u, z, psi), a velocity for each field.

    r is what is known, see `Outset`. The black-box has the same networks and mixes what would be winds into more of the
    source; its r is zero. Both have one size.
    """

    flips: Tensor

    def __init__(
        self, settings: WeatherSettings, around: Surroundings, known: Known | None, flips: Tensor, step: float
    ) -> None:
        super().__init__()
        net, fields, grid = settings.net, len(flips), around.longitude.shape
        halvings = possible_halvings(net.halvings, *grid)
        self.settings, self.substep = settings, step / settings.transport.substeps
        self.step, self.surroundings = step, around
        self.register_buffer("flips", flips, persistent=False)
        self.outset = Outset(fields, grid[0], net.history, known)
        self.encoder = TemporalEncoder(fields, net.history, net.latents, net.heads, net.variational)
        # slopes change their sign beyond a pole, and those of components do so twice
        seen = torch.cat([flips, -flips, -flips, flips, torch.ones(net.latents + Surroundings.count)])
        self.velocity = Net(seen, 2 * fields, net.width, net.depth, halvings)
        self.source = Net(seen, fields, net.source_width, net.depth, halvings)
        self.mix = nn.Conv2d(2 * fields, fields, 1) if settings.method == "black-box" else None

    def recalled(self, past: Tensor, unit: Tensor) -> Tensor:
        """What the past (B, h + 1, ...) says of the rates, in usual units: the same all the way to the next state."""
        return self.outset.said_then(self.outset.of_the_past(past, self._changes(past, unit)))

    def forward(self, at: Moment, state: Tensor, past: Tensor, unit: Tensor, noise: Tensor | None) -> Rate:
        """For states (B, C, lat, lon) in units of spread, after past ones (B, h + 1, ...).

        `unit` (C, 1, 1) is the usual rate, which sources count in; `noise` (B, latents, lat, lon) draws the latents, if
        they are drawn.
        """
        differences, around = slopes(state, self.flips), self.surroundings(at.hours, at.since)
        known = self.outset.said_now(self.outset.of_now(state, around))
        recalled = self.recalled(past, unit) if at.recalled is None else at.recalled
        latent = self.encoder(state, self._changes(past, unit))
        latents = latent.drawn(noise).to(state)
        told = torch.cat([state, *differences, known], 1)
        seen = self._laid_out(torch.cat([told, latents, around], 1))
        # in training only latents are learned; what depends on the state asks for all
        learned = slice(None) if told.requires_grad else slice(told.shape[1], told.shape[1] + latents.shape[1])
        winds, more = (found.to(state) for found in outs((self.velocity, self.source), seen, learned))
        source = known + recalled + more
        if self.mix is not None:
            return Rate(polar_filtered(unit * (source + self.mix(winds).to(state))), None, None, latent)
        east, north = (USUAL_WIND * winds).chunk(2, 1)
        transport = self.settings.transport
        east, north = limited(east, north, self.substep, transport.courant)
        moved = carried(state, differences, east, north, transport.form)
        return Rate(polar_filtered(moved + unit * source), east, north, latent)

    def _changes(self, past: Tensor, unit: Tensor) -> Tensor:
        return past.diff(dim=1) / (unit * self.step)

    def _laid_out(self, maps: Tensor) -> Tensor:
        last = self.settings.training.channels_last
        return maps.contiguous(memory_format=torch.channels_last) if last else maps
