"""Fields on a regular grid of latitudes and longitudes: neighbours, derivatives, averages.

A field is (..., lat, lon). Rows are the middles of bands of equal width, from south to north, so that no row lies on a
pole; columns go east and close upon themselves, in even number, so that each has one opposite it across a pole. The
shape alone then says where every point lies.
"""

from __future__ import annotations

from greymatch.weather.sphere.calculus import advection, divergence, flux_divergence, gradient, vorticity
from greymatch.weather.sphere.halo import halo
from greymatch.weather.sphere.poisson import laplacian, unbent
from greymatch.weather.sphere.polar import polar_filtered
from greymatch.weather.sphere.rows import EARTH_RADIUS, area_weights, latitudes, longitudes

__all__ = [
    "EARTH_RADIUS",
    "advection",
    "area_weights",
    "divergence",
    "flux_divergence",
    "gradient",
    "halo",
    "laplacian",
    "latitudes",
    "longitudes",
    "polar_filtered",
    "unbent",
    "vorticity",
]
