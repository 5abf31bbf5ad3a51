"""Noisy trajectories smoothed anew with the help of the field: it says how they bend, and noise hides less of the rest.

With the derivative g(t) that the field gives along the path found before, and its integral G (for order 2 the second
one), what is smoothed are the observations less G. If the field is right, that is noise about a straight line, and
hardly any of it gets into the path; where it is wrong, its error is a curve of its own roughness, and stays. This is
smoothing, with the field in the place of a straight line; nothing is solved.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.smoothing import smooth
from greymatch.data.trajectories import Trajectories
from greymatch.matching.spline import Spline
from greymatch.models.latents import Latents
from greymatch.models.network import Network


@dataclass(frozen=True)
class Course:
    """Where the trajectories went: `values` (N, T, S), and the standard deviation `doubt` (N, T, S) that is left to
    their highest derivative."""

    values: Tensor
    doubt: Tensor

    def packed(self) -> Tensor:
        return torch.stack([self.values, self.doubt])

    @staticmethod
    def smoothed(data: Trajectories, order: int) -> Course:
        """What smoothing alone gives."""
        found = smooth(data.times, data.values, data.mask, data.noise)
        return Course(found.values, found.doubt[..., order])

    @torch.no_grad()
    def along(self, network: Network, data: Trajectories, latents: Latents) -> Course:
        """The course that the field suggests, given the latents (N, ...) of each trajectory."""
        order = network.physics.order
        said = self._said(network, data, latents)
        steps = torch.where(data.times.isfinite(), data.times, torch.nan).diff(dim=1).nan_to_num(0.0)[..., None]
        bent = integral(_spline(data, said), steps, order)
        found = smooth(data.times, (data.values - bent).masked_fill(~data.mask, 0.0), data.mask, data.noise)
        return Course(bent + found.values, found.doubt[..., order])

    def _said(self, network: Network, data: Trajectories, latents: Latents) -> Tensor:
        """The highest derivative (N, T, S) by the field along this course."""
        values, slopes = _spline(data, self.values)
        phase = torch.cat([values] + [slopes] * (network.physics.order - 1), 2).float()
        rows = torch.arange(len(data), device=data.times.device)
        times = _clock(data)
        inputs = data.inputs.at(rows, times).float() if data.inputs else None
        return network.dynamics.parts(times, phase, latents.over(times.shape[1]), inputs).total.double()


def integral(curve: tuple[Tensor, Tensor], steps: Tensor, order: int) -> Tensor:
    """The first or second integral (N, T, S) from rest at the first point on, of values and slopes (N, T, S) each.

    Exact for cubic polynomials between points `steps` (N, T - 1, 1) apart.
    """
    (here, after), (rise, fall) = ((part[:, :-1], part[:, 1:]) for part in curve)
    once = steps * (here + after) / 2 + steps**2 * (rise - fall) / 12
    speed = torch.nn.functional.pad(once.cumsum(1), (0, 0, 1, 0))
    if order == 1:
        return speed
    twice = steps**2 * (7 * here + 3 * after) / 20 + steps**3 * (rise / 20 - fall / 30)
    return torch.nn.functional.pad((speed[:, :-1] * steps + twice).cumsum(1), (0, 0, 1, 0))


def _clock(data: Trajectories) -> Tensor:
    """Times (N, T) with the last one in the place of padding."""
    return data.times.masked_fill(~data.times.isfinite(), -torch.inf).cummax(1).values


def _spline(data: Trajectories, values: Tensor) -> tuple[Tensor, Tensor]:
    """Values and slopes (N, T, S) of the splines through `values`, which stand at every time."""
    everywhere = data.times.isfinite()[..., None].expand_as(values)
    path = Spline(5)(data.times.cpu(), values.masked_fill(~everywhere, 0.0).cpu(), everywhere.cpu())
    found = path.at(torch.arange(len(data)), _clock(data).cpu())
    return found.position.to(values), found.velocity.to(values)
