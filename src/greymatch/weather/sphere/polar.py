"""Near the poles the columns of a grid come close together: waves that are short there are none of the weather's."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from greymatch.weather.sphere.rows import check_field, latitudes


def polar_filtered(field: Tensor) -> Tensor:
    """A field (..., lat, lon) without the zonal waves m > 1 + columns / 2 cos(lat) of each row.

    ```python
    change = polar_filtered(change)                        # the equator keeps all, the last row its longest waves
    ```

    What is left is about as fine, in kilometres, as the grid at the equator; what is smooth on the sphere passes, since
    its wave m falls as cos(lat)^m towards a pole. Means over a row stay as they are, so that nothing is made or lost.
    """
    check_field(field)
    columns = field.shape[-1]
    kept = _kept(field.shape[-2], columns, field.device)
    waves = torch.fft.rfft(field.float() if field.dtype in _HALF else field)
    return torch.fft.irfft(waves * kept, columns).to(field)


_HALF = (torch.bfloat16, torch.float16)


@lru_cache(maxsize=16)
def _kept(rows: int, columns: int, device: torch.device) -> Tensor:
    """1 for the waves (lat, m) that stay, 0 for the others."""
    lat = latitudes(torch.empty(rows, columns, dtype=torch.float64))
    wave = torch.arange(columns // 2 + 1)
    return (wave <= 1 + columns / 2 * lat.cos()[:, None]).float().to(device)
