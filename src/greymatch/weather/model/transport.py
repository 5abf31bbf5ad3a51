"""Fields carried by winds, each by its own, at speeds that the solver's step can follow."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from greymatch.weather.sphere import EARTH_RADIUS, flux_divergence, halo, latitudes

SECONDS = 3600.0  # of an hour, in which rates are counted
USUAL_WIND = 10.0  # m/s for each unit in which networks count winds


Slopes = tuple[Tensor, Tensor]
"""Differences to the east and to the north."""


def limited(east: Tensor, north: Tensor, hours: float, courant: float) -> tuple[Tensor, Tensor]:
    """The winds (m/s), softly bounded so that they cross at most `courant` cells, both ways together, in `hours`.

    Cells narrow towards the poles, and with them the bound on the east wind: so v / cos(lat) stays in bounds, and
    Runge-Kutta 4 is stable with centred differences (|c| < 2.8) whatever a network says.
    """
    share = courant / 2 / (SECONDS * hours)  # of each direction, in cells per second
    most_north, most_east = (share * size for size in cell(east))
    return most_east * torch.tanh(east / most_east), most_north * torch.tanh(north / most_north)


def slopes(fields: Tensor, flips: Tensor) -> Slopes:
    """Centred differences of fields (B, C, lat, lon) from cell to cell, to the east and to the north.

    `flips` (C,) is -1 for components of a vector, which turn about beyond a pole. Without the metric
    nothing grows there.
    """
    wide = halo(fields, 1, 1, flips.to(fields))
    inner_rows, inner_columns = wide[..., 1:-1, :], wide[..., 1:-1]
    east = (inner_rows[..., 2:] - inner_rows[..., :-2]) / 2
    return east, (inner_columns[..., 2:, :] - inner_columns[..., :-2, :]) / 2


def carried(fields: Tensor, differences: Slopes, east: Tensor, north: Tensor, form: str) -> Tensor:
    """What the winds bring in an hour, by `form`: flux, or advection from the differences that `slopes` gives."""
    return conserved(fields, east, north) if form == "flux" else advected(differences, east, north)


def conserved(fields: Tensor, east: Tensor, north: Tensor) -> Tensor:
    """-div(u v) in an hour: what leaves one cell enters the next."""
    return -SECONDS * flux_divergence(fields * east, fields * north)


def advected(differences: Slopes, east: Tensor, north: Tensor) -> Tensor:
    """-v . grad u in an hour, from the differences that `slopes` gives."""
    high, wide = cell(east)
    return -SECONDS * (east / wide * differences[0] + north / high * differences[1])


def cell(like: Tensor) -> tuple[float, Tensor]:
    """Height of a cell, and width (lat, 1) of those of each row, in metres."""
    rows, columns = like.shape[-2:]
    wide = 2 * math.pi * EARTH_RADIUS / columns * latitudes(like).cos()[:, None]
    return math.pi * EARTH_RADIUS / rows, wide
