"""How much each latitude counts."""

from __future__ import annotations

import numpy as np


def by_cosine(lat: np.ndarray) -> np.ndarray:
    """cos(lat) over its mean, as in the paper, for latitudes (H,) in degrees."""
    cosine = np.cos(np.deg2rad(lat))
    return cosine / cosine.mean()


def by_area(lat: np.ndarray) -> np.ndarray:
    """Area of the cells, with mean 1, as WeatherBench 2 has it: the edges lie half way, and at the poles.

    Where no row lies on a pole it is the same as `by_cosine`.
    """
    edges = np.deg2rad(np.concatenate([[-90.0], (lat[1:] + lat[:-1]) / 2, [90.0]]))
    area = np.diff(np.sin(edges))
    return area / area.mean()
