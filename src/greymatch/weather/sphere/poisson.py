"""The Laplacian on the sphere, and what it leaves behind: fields from their curvature."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

from greymatch.weather.sphere.rows import EARTH_RADIUS, area_weights, check_field


def laplacian(field: Tensor, radius: float = EARTH_RADIUS) -> Tensor:
    """div grad f of a field (..., lat, lon): of order 2 in the mean, nothing is made or lost.

    ```python
    vorticity = laplacian(streamfunction)                  # 1/s
    ```
    """
    check_field(field)
    return _by_waves(field, _curvature(*field.shape[-2:], field.device)) / radius**2


def unbent(field: Tensor, length: float, radius: float = EARTH_RADIUS) -> Tensor:
    """The field f (..., lat, lon) with div grad f - f / length^2 = `field`; of great length, what `laplacian` undoes.

    ```python
    streamfunction = unbent(vorticity, 4e6)                # waves longer than some 4000 km are held back
    ```

    Solved for each zonal wave at once, from matrices that are made once for a grid and a length.
    """
    check_field(field)
    return _by_waves(field, _inverse(*field.shape[-2:], length / radius, field.device)) * radius**2


def _by_waves(field: Tensor, matrices: Tensor) -> Tensor:
    """Rows mixed by a matrix (m, lat, lat) of each zonal wave."""
    waves = torch.view_as_real(torch.fft.rfft(field))
    mixed = torch.einsum("mij,...jmc->...imc", matrices.to(waves), waves)
    return torch.fft.irfft(torch.view_as_complex(mixed.contiguous()), field.shape[-1])


@lru_cache(maxsize=16)
def _inverse(rows: int, columns: int, length: float, device: torch.device) -> Tensor:
    held = torch.eye(rows, dtype=torch.float64, device=device) / length**2
    return torch.linalg.inv(_curvature(rows, columns, device) - held)


@lru_cache(maxsize=16)
def _curvature(rows: int, columns: int, device: torch.device) -> Tensor:
    """The Laplacian (m, lat, lat) of each zonal wave on the unit sphere: flows through the faces of the cells."""
    size = math.pi / rows
    faces = torch.linspace(-math.pi / 2, math.pi / 2, rows + 1, dtype=torch.float64)[1:-1].cos() / size**2
    wide = area_weights(torch.empty(rows, columns, dtype=torch.float64)).flatten() * 2 / math.pi  # mean of cos
    across = torch.diag(faces, 1) + torch.diag(faces, -1)
    across = (across - torch.diag(across.sum(1))) / wide[:, None]
    wave = columns / math.pi * torch.sin(math.pi / columns * torch.arange(columns // 2 + 1, dtype=torch.float64))
    return (across - torch.diag_embed((wave[:, None] / wide) ** 2)).to(device)
