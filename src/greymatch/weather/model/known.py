"""What is known of the rates before anything is learned, but for numbers: transport by winds in balance, and forces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.weather.fields import FORECAST, GRAVITY
from greymatch.weather.model.transport import SECONDS, Slopes, cell, limited, slopes
from greymatch.weather.sphere import laplacian, latitudes, unbent, vorticity

SPIN = 2 * 7.292e-5  # 1/s, twice the Earth's
EQUATOR = math.radians(10)  # nearer to it, balance says ever less of the wind
LENGTH, LONG = 1e6, 4e6  # metres: waves that are longer move less than vorticity alone would have them
LAYER = 287.0 * math.log(2.0)  # m^2/s^2 of thickness for a kelvin, from 1000 to 500 hPa


class Known(nn.Module):
    """Maps T (B, count, lat, lon) of states in units of spread, in units of the usual rates of what they act on.

    v is the wind in balance with z500, k x grad z500 f / (f^2 + f_10^2), and w the one near the ground. There are

    - what both carry: -v . grad u and -w . grad u of every field u, and of the height of the ground;
    - geopotential by vorticity that both carry, that of z500, of t850 by its thickness, and of w:
      q = f (lap - 1/L^2)^-1 (-v . grad zeta); and so by heat that they carry and by ground that they climb;
    - winds in balance with q, and with the thickness that is carried;
    - forces on w: f w, and the slopes of z500, t850 and t2m, of which pressure near the ground is made.
    """

    center: Tensor
    spread: Tensor
    change: Tensor
    flips: Tensor
    climb: Tensor

    def __init__(
        self,
        names: tuple[str, ...],
        units: Mapping[str, Tensor],
        flips: Tensor,
        hours: float,
        step: float,
        courant: float,
    ) -> None:
        """`units` are center, spread and change (C,) in `hours`, and the height (lat, lon) of the ground; winds are
        bounded so that they cross at most `courant` cells in `step` hours."""
        super().__init__()
        self.places, self.hours, self.longest = [names.index(name) for name in FORECAST], hours, (step, courant)
        for name in ("center", "spread", "change"):
            self.register_buffer(name, units[name].clone(), persistent=False)
        self.register_buffer("flips", torch.cat([flips, torch.ones(3)]), persistent=False)
        climb = _gradient(units["height"].float()[None, None], torch.ones(1))
        self.register_buffer("climb", torch.cat(climb))  # kept, since files tell heights relative to the usual one
        self.count = 2 * len(names) + 2 + 11 + 16 + 8

    def forward(self, state: Tensor) -> Tensor:
        seen = self._seen(state)
        winds = self._winds(seen)
        brought = _carried(winds, seen.slopes)  # (B, 2, C + 3, lat, lon)
        moved, turned = brought[:, :, :-3], brought[:, :, -3:].flatten(1, 2)
        lifted = GRAVITY * _carried(winds, (self.climb[:1], self.climb[1:]))[:, :, 0]
        z, t, t2, u, _ = self.places
        warmed = LAYER * torch.stack([moved[:, 0, t], moved[:, 1, t2]], 1)
        bent = torch.cat([seen.spin * turned, seen.spin**2 * lifted, warmed / LENGTH**2], 1)
        raised = torch.cat([unbent(bent, LENGTH), unbent(bent[:, :1], LONG)], 1)
        balanced = self._balanced(torch.cat([raised[:, :6], warmed], 1), seen.spun)
        usual = (self.change / self.hours)[:, None, None]
        maps = [(moved / usual).flatten(1, 2), lifted / usual[z], raised / usual[z], *balanced, self._forces(seen)]
        return torch.cat([*maps[:3], *(part / usual[u] for part in maps[3:])], 1)

    def winds(self, state: Tensor) -> Slopes:
        """v and w (B, 2, lat, lon), to the east and to the north, in m/s."""
        return self._winds(self._seen(state))

    def _seen(self, state: Tensor) -> Seen:
        fields = state * self.spread[:, None, None] + self.center[:, None, None]
        z500, t850, _, u10, v10 = (fields[:, place] for place in self.places)
        spin = SPIN * latitudes(state).sin()[:, None]
        spun = spin / (spin**2 + (SPIN * math.sin(EQUATOR)) ** 2)
        curved = spun * laplacian(torch.stack([z500, LAYER * t850], 1))
        turning = [curved[:, 0] + spin, curved[:, 1], vorticity(u10, v10)]
        return Seen(fields, _gradient(torch.cat([fields, torch.stack(turning, 1)], 1), self.flips), spin, spun)

    def _winds(self, seen: Seen) -> Slopes:
        z, *_, u, v = self.places
        (east, north), spun = seen.slopes, seen.spun
        to_east = torch.stack([-spun * north[:, z], seen.fields[:, u]], 1)
        to_north = torch.stack([spun * east[:, z], seen.fields[:, v]], 1)
        return limited(to_east, to_north, *self.longest)

    def _balanced(self, maps: Tensor, spun: Tensor) -> Slopes:
        east, north = _gradient(maps, torch.ones(maps.shape[1], device=maps.device))
        return -spun * north, spun * east

    def _forces(self, seen: Seen) -> Tensor:
        z, t, t2, u, v = self.places
        turned = seen.spin * seen.fields[:, [u, v]]
        pressed = [part[:, place] * size for place, size in ((z, 1.0), (t, LAYER), (t2, LAYER)) for part in seen.slopes]
        return SECONDS * torch.cat([turned, torch.stack(pressed, 1)], 1)


class Seen(NamedTuple):
    """Fields in their own units, slopes per metre of them and of three vorticities, f, and what stands for 1 / f."""

    fields: Tensor
    slopes: Slopes
    spin: Tensor
    spun: Tensor


def _gradient(maps: Tensor, flips: Tensor) -> Slopes:
    """Per metre, of maps (B, C, lat, lon)."""
    high, wide = cell(maps)
    east, north = slopes(maps, flips)
    return east / wide, north / high


def _carried(winds: Slopes, by: Slopes) -> Tensor:
    """-v . grad f in an hour (B, winds, maps, lat, lon)."""
    return -SECONDS * (winds[0][:, :, None] * by[0][:, None] + winds[1][:, :, None] * by[1][:, None])
