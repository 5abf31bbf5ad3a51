"""Where rows and columns lie, and how much of the sphere each row stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from greymatch.errors import GreymatchError

EARTH_RADIUS = 6.371e6  # metres
_FEWEST_ROWS, _FEWEST_COLUMNS = 4, 6  # a stencil of order 4 reaches two rows beyond a pole
_OFF = 0.01  # of a row


def latitudes(field: Tensor) -> Tensor:
    """Latitude of each row (lat,) in radians."""
    return _rows(field.shape[-2], field.dtype, field.device)


def longitudes(field: Tensor) -> Tensor:
    """Longitude of each column (lon,) in radians, from the first one on."""
    columns = field.shape[-1]
    return torch.arange(columns, dtype=field.dtype, device=field.device) * (2 * math.pi / columns)


def area_weights(field: Tensor) -> Tensor:
    """Area of the cells of each row (lat, 1), with mean 1: their mean with a field is its mean on the sphere."""
    rows = field.shape[-2]
    edges = torch.linspace(-math.pi / 2, math.pi / 2, rows + 1, dtype=torch.float64)
    return (edges.sin().diff() * rows / 2).to(field)[:, None]


@lru_cache(maxsize=64)
def _rows(rows: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    step = math.pi / rows
    return ((torch.arange(rows, dtype=torch.float64) + 0.5) * step - math.pi / 2).to(device, dtype)


def check_field(field: Tensor) -> None:
    shape = tuple(field.shape)
    if len(shape) < 2 or shape[-2] < _FEWEST_ROWS or shape[-1] < _FEWEST_COLUMNS or shape[-1] % 2:
        raise GreymatchError(
            f"`field` must be (..., lat, lon) with at least {_FEWEST_ROWS} rows and an even number of columns, at "
            f"least {_FEWEST_COLUMNS}; got shape {shape}. The last axes are latitude and longitude."
        )


def check_globe(latitude: Sequence[float], longitude: Sequence[float]) -> None:
    """Whether there are derivatives of maps on such degrees: rows are the middles of bands, columns go all around."""
    rows, columns = len(latitude), len(longitude)
    centred = [(row + 0.5) * 180 / rows - 90 for row in range(rows)]
    around = [longitude[0] + column * 360 / columns for column in range(columns)]
    for name, found, wanted in (("latitudes", latitude, centred), ("longitudes", longitude, around)):
        if max(abs(one - other) for one, other in zip(found, wanted, strict=True)) > _OFF * 180 / rows:
            raise GreymatchError(
                f"{name} must be those of a whole globe in {rows} x {columns} equal cells, {wanted[0]:g} to "
                f"{wanted[-1]:g}; they are {found[0]:g} to {found[-1]:g}. Regrid the maps: rows at the poles and "
                "regions have no such cells."
            )
    if rows < _FEWEST_ROWS or columns < _FEWEST_COLUMNS or columns % 2:
        raise GreymatchError(
            f"maps must have at least {_FEWEST_ROWS} latitudes and an even number of longitudes, at least "
            f"{_FEWEST_COLUMNS}; they have {rows} and {columns}. Regrid them."
        )


def check_alike(**fields: Tensor) -> None:
    shapes = {name: tuple(field.shape[-2:]) for name, field in fields.items()}
    if len(set(shapes.values())) > 1:
        raise GreymatchError(f"fields must share one grid (lat, lon); got {shapes}.")
