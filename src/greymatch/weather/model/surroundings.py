"""Where and when: the embeddings that tell the networks of hour, season and place."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from greymatch.weather.sphere import latitudes, longitudes

DAY, YEAR = 24.0, 365.2425 * 24  # hours


class Surroundings(nn.Module):
    """Maps (B, C, lat, lon) of a moment: place, land, height, the sun's hour at each place, and season.

    `land` and `height` (lat, lon) are of the archive; the moment is in hours since 2000-01-01 00 UTC.
    """

    still: Tensor
    longitude: Tensor
    sine: Tensor
    count = 6 + 2 + 4 + 1
    land, sun = slice(4, 5), slice(6, 8)

    def __init__(self, land: Tensor, height: Tensor) -> None:
        super().__init__()
        lat, lon = latitudes(height)[:, None].expand_as(height), longitudes(height).expand_as(height)
        place = [lat.sin(), lat.cos(), lat.cos() * lon.sin(), lat.cos() * lon.cos()]
        tall = height / height.square().mean().sqrt().clamp_min(1.0)
        self.register_buffer("still", torch.stack([*place, land, tall]))
        self.register_buffer("longitude", lon.clone(), persistent=False)
        self.register_buffer("sine", lat.sin(), persistent=False)

    def forward(self, hours: Tensor, since: Tensor) -> Tensor:
        """At `hours` (B,), when the part `since` (B,) of the step from the last state is over."""
        # the hour is taken before it is made coarse: a day is small beside the hours since 2000
        hour = (2 * math.pi * (hours % DAY) / DAY).to(self.still)
        season = (2 * math.pi * (hours % YEAR) / YEAR).to(self.still)[:, None, None]
        sun = hour[:, None, None] + self.longitude
        shape = sun.shape
        summer = [season.sin().expand(shape), season.cos().expand(shape)]
        moving = [sun.sin(), sun.cos(), *summer, *(part * self.sine for part in summer)]
        moving.append(since.to(self.still)[:, None, None].expand(shape))
        return torch.cat([self.still.expand(len(hours), -1, -1, -1), torch.stack(moving, 1)], 1)
