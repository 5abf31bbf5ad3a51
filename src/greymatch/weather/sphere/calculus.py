"""Derivatives on the sphere, by central differences that go on over the poles."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.weather.sphere.halo import halo
from greymatch.weather.sphere.rows import EARTH_RADIUS, area_weights, check_alike, check_field, latitudes, longitudes

_WEIGHTS = {2: (1 / 2,), 4: (2 / 3, -1 / 12)}  # of f[i + k] - f[i - k], k = 1, 2


def gradient(field: Tensor, radius: float = EARTH_RADIUS, order: int = 2) -> tuple[Tensor, Tensor]:
    """(1/(r cos lat) df/dlon, 1/r df/dlat) of a field (..., lat, lon): its slopes to the east and to the north.

    ```python
    east, north = gradient(temperature)                     # kelvin per metre
    ```

    Of order 2 or 4 in the step, at the poles as elsewhere, for fields that are smooth there.
    Not for the components of a vector, which turn with the meridians: see `divergence` and `vorticity`.
    """
    check_field(field)
    east = _difference(halo(field, 0, len(_weights(order))), -1, order) * (field.shape[-1] / (2 * math.pi * radius))
    north = _difference(halo(field, len(_weights(order)), 0), -2, order) * (field.shape[-2] / (math.pi * radius))
    return east / latitudes(field).cos()[:, None], north


def advection(field: Tensor, east: Tensor, north: Tensor, radius: float = EARTH_RADIUS, order: int = 2) -> Tensor:
    """v . grad f: what a wind (`east`, `north`) brings, with its sign turned, to each place.

    ```python
    cooling = -advection(temperature, u, v)                 # kelvin per second
    ```

    Not conservative: see `flux_divergence` for what must neither come from nowhere nor vanish.
    """
    check_alike(field=field, east=east, north=north)
    f_east, f_north = gradient(field, radius, order)
    return east * f_east + north * f_north


def divergence(east: Tensor, north: Tensor, radius: float = EARTH_RADIUS, order: int = 2) -> Tensor:
    """1/(r cos lat) (du/dlon + d(v cos lat)/dlat), of order 2 or 4 up to the poles.

    Both terms grow without bounds towards a pole, where they cancel; so the three Cartesian components of the vector
    are differentiated instead, which are smooth, and div v = sum of (grad v_i)_i.

    Its sum over the sphere is zero to the order only: see `flux_divergence`.
    """
    check_field(east)
    check_alike(east=east, north=north)
    to_east, to_north = _directions(east)
    wind = [a * east + b * north for a, b in zip(to_east, to_north, strict=True)]
    slopes = [gradient(part, radius, order) for part in wind]
    terms = [a * f_east + b * f_north for a, b, (f_east, f_north) in zip(to_east, to_north, slopes, strict=True)]
    return terms[0] + terms[1] + terms[2]


def vorticity(east: Tensor, north: Tensor, radius: float = EARTH_RADIUS, order: int = 2) -> Tensor:
    """1/(r cos lat) (dv/dlon - d(u cos lat)/dlat): the divergence of the wind turned clockwise by a right angle."""
    return divergence(north, -east, radius, order)


def flux_divergence(east: Tensor, north: Tensor, radius: float = EARTH_RADIUS) -> Tensor:
    """Net flow out of each cell over its area, from the mean of the two cells at each face.

    What leaves one cell enters the next, and nothing crosses a pole, so that the sum over cells with `area_weights`
    is zero to rounding. Of order 2 in the mean over the sphere, and of order 1 in the rows next to the poles.
    """
    check_field(east)
    check_alike(east=east, north=north)
    rows, columns = east.shape[-2:]
    wide = halo(east, 0, 1)
    through_sides = (wide[..., 2:] - wide[..., :-2]) * (math.pi / rows / 2)
    inner = torch.linspace(-math.pi / 2, math.pi / 2, rows + 1, dtype=east.dtype, device=east.device)[1:-1]
    upward = (north[..., 1:, :] + north[..., :-1, :]) * (inner.cos()[:, None] * (math.pi / columns))
    closed = torch.nn.functional.pad(upward, (0, 0, 1, 1))
    area = area_weights(east) * (4 * math.pi / (rows * columns))
    return (through_sides + closed.diff(dim=-2)) / (area * radius)


def _weights(order: int) -> tuple[float, ...]:
    if order not in _WEIGHTS:
        raise GreymatchError(f"`order` must be 2 or 4; got {order!r}.")
    return _WEIGHTS[order]


def _difference(padded: Tensor, dim: int, order: int) -> Tensor:
    """Slope per step along `dim`, which has as many points more at each end as there are weights."""
    weights = _weights(order)
    reach = len(weights)
    count = padded.shape[dim] - 2 * reach
    pairs = [
        (padded.narrow(dim, reach + k, count) - padded.narrow(dim, reach - k, count)) * weight
        for k, weight in enumerate(weights, start=1)
    ]
    return sum(pairs[1:], pairs[0])


def _directions(field: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """East and north at each point, in Cartesian coordinates."""
    lat, lon = latitudes(field)[:, None], longitudes(field)
    east = (-lon.sin(), lon.cos(), torch.zeros_like(lon))
    return east, (-lat.sin() * lon.cos(), -lat.sin() * lon.sin(), lat.cos())
