"""How much of a field varies over which length: blurred forecasts lack the short waves."""

from __future__ import annotations

import numpy as np

from greymatch.weather.weights import by_area


def zonal_spectrum(values: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Power (..., wavenumber) of the waves around the latitude circles of a field (..., lat, lon).

    P_0 = |f_0|^2 and P_k = 2 |f_k|^2, with f_k = 1/n sum f exp(-i k lon); the mean over latitudes is by area. The
    powers of all wavenumbers add up to the mean square of the field on the sphere.
    """
    columns = values.shape[-1]
    waves = np.fft.rfft(values, axis=-1) / columns
    power = np.abs(waves) ** 2
    power[..., 1 : (columns + 1) // 2] *= 2  # the waves of -k; the shortest of an even number is its own
    return np.einsum("...hk,h->...k", power, by_area(lat)) / len(lat)
