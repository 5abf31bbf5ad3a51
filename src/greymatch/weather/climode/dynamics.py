"""du/dt = -div(u v), dv/dt = f(u, grad u, v, psi): fields carried by winds that change by a learned law."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.weather.climode.attention import GlobalAttention
from greymatch.weather.model.net import Net, possible_halvings
from greymatch.weather.model.surroundings import Surroundings
from greymatch.weather.model.transport import USUAL_WIND, carried, limited, slopes
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.sphere import polar_filtered

_LEAST = 1e-2  # of a standard deviation, relative to the usual change in a step


class Emitted(NamedTuple):
    """What is said of states (B, T, C, lat, lon): a mean and a standard deviation, in units of spread."""

    mean: Tensor
    std: Tensor


class SecondOrder(nn.Module):
    """The state and a wind for each field, together (B, 3 C, lat, lon); `emitted` is what of it is observed.

    f is a convolutional network and attention over the globe beside it. The emission network corrects the mean and
    says how far off it may be, from the state, place and time.
    """

    flips: Tensor

    def __init__(self, settings: WeatherSettings, surroundings: Surroundings, flips: Tensor, step: float) -> None:
        super().__init__()
        net, fields = settings.net, len(flips)
        halvings = possible_halvings(net.halvings, *surroundings.longitude.shape)
        self.settings, self.step, self.surroundings = settings, step, surroundings
        self.register_buffer("flips", flips, persistent=False)
        still = torch.ones(Surroundings.count)
        seen = torch.cat([flips, -flips, -flips, -torch.ones(2 * fields), still])
        self.velocity = Net(seen, 2 * fields, net.width, net.depth, halvings)
        self.attention = GlobalAttention(len(seen), 2 * fields)
        self.source = Net(torch.cat([flips, still]), 2 * fields, net.source_width, net.depth, halvings)

    def forward(self, hours: Tensor, both: Tensor) -> Tensor:
        """d/dt of state and winds at `hours` (B,), in units of spread and of `USUAL_WIND` per hour."""
        fields = len(self.flips)
        state, winds = both.split([fields, 2 * fields], 1)
        transport = self.settings.transport
        east, north = (USUAL_WIND * winds).chunk(2, 1)
        east, north = limited(east, north, self.step / transport.substeps, transport.courant)
        differences = slopes(state, self.flips)
        seen = torch.cat([state, *differences, winds, self._around(hours)], 1)
        pushed = (self.velocity(seen) + self.attention(seen)).to(state) / self.step
        moved = carried(state, differences, east, north, transport.form)
        return polar_filtered(torch.cat([moved, pushed], 1))

    def emitted(self, hours: Tensor, states: Tensor, unit: Tensor) -> Emitted:
        """Of states (B, T, C, lat, lon) at `hours` (B, T); `unit` (C, 1, 1) is the usual rate."""
        seen = torch.cat([states.flatten(0, 1), self._around(hours.flatten())], 1)
        shift, width = self.source(seen).to(states).unflatten(0, states.shape[:2]).chunk(2, 2)
        usual = unit * self.step
        return Emitted(states + usual * shift, usual * (nn.functional.softplus(width) + _LEAST))

    def _around(self, hours: Tensor) -> Tensor:
        return self.surroundings(hours, torch.zeros_like(hours))
