# pyright: reportMissingImports=false
"""What is seen of the model: weather maps, as an observer would draw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from dinosaur import primitive_equations, scales
from dinosaur.sigma_coordinates import SigmaCoordinates
from dinosaur.spherical_harmonic import Grid, vor_div_to_uv_nodal
from dinosaur.units import SimUnits

from greymatch.weather.simulation.forcing import Sun, second

PRESSURES = (500, 850)  # hPa
LAPSE = 0.19  # temperature falls as p^0.19 where it falls by 6.5 K/km
SHELTER = 0.35  # part of the lowest layer's wind that rough land keeps from blowing at 10 m
SKIN = 7.0  # kelvin by which air at 2 m follows the ground between noon and night
LAG = 2 * 3600.0  # seconds by which it does so late


@dataclass(frozen=True, eq=False)
class View:
    """Maps (lat, lon) of geopotential, temperature and wind at 500 and 850 hPa, and near the ground, in SI units.

    The lowest layer lies some 500 m above the ground. Air at 2 m is taken as warmer by the usual lapse rate, and over
    land it follows the sun; wind at 10 m is the layer's own, weakened over land. Below the lowest layer, and below the
    ground, air goes on with the usual lapse rate, and with the wind as it is.
    """

    grid: Grid
    layers: SigmaCoordinates
    units: SimUnits
    reference: np.ndarray
    ground: Any
    land: np.ndarray

    @property
    def orography(self) -> np.ndarray:
        """Height (lat, lon) of the ground as the model feels it, in metres."""
        return np.asarray(self._si(self.grid.to_nodal(self.ground), "m")).T

    @property
    def degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Latitudes and longitudes."""
        return degrees(self.grid)

    def __call__(self, state: Any) -> dict[str, Any]:
        temperature = self.grid.to_nodal(state.temperature_variation) + self.reference[:, None, None]
        pressure = jnp.exp(self.grid.to_nodal(state.log_surface_pressure))
        wind = vor_div_to_uv_nodal(self.grid, state.vorticity, state.divergence)
        u, v = (self._si(part, "m / s") for part in wind)
        aloft = {"z": self._geopotential(temperature), "t": temperature, "u": u, "v": v}
        maps = self._near_the_ground(state, temperature[-1], u[-1], v[-1])
        for hPa in PRESSURES:
            maps |= {f"{name}{hPa}": values for name, values in self._at(hPa, aloft, pressure[0]).items()}
        return {name: jnp.swapaxes(values, -1, -2) for name, values in maps.items()}

    def _geopotential(self, temperature: Any) -> Any:
        over_ground = primitive_equations.get_geopotential_on_sigma(
            temperature,
            nodal_orography=self.grid.to_nodal(self.ground),
            sigma=self.layers,
            gravity_acceleration=self.units.gravity_acceleration,
            ideal_gas_constant=self.units.ideal_gas_constant,
        )
        return self._si(over_ground, "m**2 / s**2")

    def _at(self, hPa: int, aloft: dict[str, Any], surface: Any) -> dict[str, Any]:
        """At a pressure: linear in its logarithm between layers, and below the lowest as the docstring says."""
        wanted = jnp.log(self.units.nondimensionalize(100.0 * hPa * scales.units.pascal) / surface)
        levels = np.log(self.layers.centers)[:, None, None]
        part = jnp.clip((wanted - levels[:-1]) / np.diff(levels, axis=0), 0.0, 1.0)
        found = {name: values[0] + (part * jnp.diff(values, axis=0)).sum(0) for name, values in aloft.items()}
        under = jnp.maximum(0.0, wanted - levels[-1])
        gas = self._si(self.units.ideal_gas_constant, "m**2 / s**2 / K")
        found["z"] = found["z"] - gas * aloft["t"][-1] * jnp.expm1(LAPSE * under) / LAPSE
        return found | {"t": found["t"] * jnp.exp(LAPSE * under)}

    def _near_the_ground(self, state: Any, temperature: Any, u: Any, v: Any) -> dict[str, Any]:
        land = self.land.T
        longitude, sine = self.grid.nodal_mesh
        sun = Sun(np.arcsin(sine), longitude).anomaly(state.sim_time / second(self.units) - LAG)
        below = temperature * self.layers.centers[-1] ** -LAPSE
        return {"t2m": below + SKIN * land * sun, "u10": u * (1 - SHELTER * land), "v10": v * (1 - SHELTER * land)}

    def _si(self, values: Any, unit: str) -> Any:
        return values * float(self.units.dimensionalize(1.0, scales.units(unit).units).magnitude)


def degrees(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Latitudes and longitudes of a model grid."""
    longitude, sine = grid.nodal_axes
    return np.rad2deg(np.arcsin(sine)), np.rad2deg(longitude)
