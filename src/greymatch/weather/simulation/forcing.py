# pyright: reportMissingImports=false
"""What drives the simulated atmosphere: Held and Suarez (1994), with season, day and land."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from dinosaur import primitive_equations, scales, time_integration
from dinosaur.coordinate_systems import CoordinateSystem

DAY = 86400.0
YEAR = 365.2425 * DAY
SOLSTICE = 172 * DAY  # the northern summer solstice, from the start of the year
TILT = math.radians(23.44)


@dataclass(frozen=True)
class Strength:
    """Temperatures in kelvin, times in days; the first seven are Held and Suarez's."""

    warmest: float = 315.0
    coldest: float = 200.0
    equator_to_pole: float = 60.0
    stability: float = 10.0
    cooling_aloft: float = 40.0
    cooling_at_surface: float = 4.0
    friction: float = 1.0
    season: float = 12.0
    season_over_land: float = 24.0
    season_over_sea: float = 4.0
    land_coupling: float = 3.0
    sea_coupling: float = 8.0
    daily_heating: float = 24.0
    friction_over_land: float = 0.6


class Forcing(time_integration.ExplicitODE):
    """Newtonian cooling and friction near the ground, under a sun that moves.

        dT/dt = -k(land) (T - T_eq) + Q(sun, land),     dv/dt = -r(land) v
        T_eq  = max(T_min, (p/p0)^kappa [T_max - D sin^2(lat) + S sin(lat) cos(season) - B log(p/p0) cos^2(lat)])

    over sigma layers, lon and lat. Near the ground S is larger over land than over sea, and land gives and takes heat
    more quickly; Q heats the lowest layers over land while the sun stands high, and takes as much away by night.
    `state.sim_time` is the time since the start of the year.
    """

    def __init__(
        self, coords: CoordinateSystem, units: Any, reference: np.ndarray, land: np.ndarray, strength: Strength
    ) -> None:
        longitude, sine = coords.horizontal.nodal_mesh
        self.coords, self.units, self.reference = coords, units, reference
        self.land, self.strength = land, strength
        self.sun = Sun(np.arcsin(sine), longitude)
        self.second = second(units)
        self.sigma = coords.vertical.centers[:, None, None]
        self.low = np.maximum(0.0, (self.sigma - 0.7) / 0.3)

    def explicit_terms(self, state: Any) -> Any:
        grid = self.coords.horizontal
        flow = primitive_equations.compute_diagnostic_state_sigma(state=state, coords=self.coords)
        slowed = [grid.to_modal(-self._friction() * part / grid.cos_lat**2) for part in flow.cos_lat_u]
        return primitive_equations.State(
            vorticity=grid.curl_cos_lat(tuple(slowed)),
            divergence=grid.div_cos_lat(tuple(slowed)),
            temperature_variation=grid.to_modal(self._heating(state, flow.temperature_variation)),
            log_surface_pressure=jnp.zeros_like(state.log_surface_pressure),
            sim_time=0.0,
        )

    def _friction(self) -> np.ndarray:
        day = DAY * self.second
        return (1 + self.strength.friction_over_land * self.land) * self.low / (self.strength.friction * day)

    def _heating(self, state: Any, variation: Any) -> Any:
        seconds = state.sim_time / self.second
        temperature = variation + self.reference[:, None, None]
        pressure = jnp.exp(self.coords.horizontal.to_nodal(state.log_surface_pressure))
        towards = self._equilibrium(pressure / self.units.nondimensionalize(1e5 * scales.units.pascal), seconds)
        day = DAY * self.second
        sun = self.strength.daily_heating / day * self.land * self.low * self.sun.anomaly(seconds)
        return sun - self._cooling() / day * (temperature - towards)

    def _cooling(self) -> np.ndarray:
        """Rates per day."""
        s = self.strength
        near = (1 / s.cooling_at_surface - 1 / s.cooling_aloft) * np.cos(self.sun.latitude) ** 4
        exchange = self.land / s.land_coupling + (1 - self.land) / s.sea_coupling
        return 1 / s.cooling_aloft + self.low * np.maximum(near, exchange)

    def _equilibrium(self, pressure: Any, seconds: Any) -> Any:
        s, latitude = self.strength, self.sun.latitude
        above = self.sigma * pressure
        at_ground = s.season_over_land * self.land + s.season_over_sea * (1 - self.land)
        season = (s.season * (1 - self.low) + at_ground * self.low) * np.sin(latitude)
        sheltered = s.warmest - s.equator_to_pole * np.sin(latitude) ** 2 + season * jnp.cos(season_angle(seconds))
        potential = sheltered - s.stability * jnp.log(above) * np.cos(latitude) ** 2
        return jnp.maximum(s.coldest, above**self.units.kappa * potential)


@dataclass(frozen=True, eq=False)
class Sun:
    """Height of the sun over points at `latitude` and `longitude`, in radians."""

    latitude: np.ndarray
    longitude: np.ndarray

    def anomaly(self, seconds: Any) -> Any:
        """Sine of the sun's height, 0 at night, less its mean over the day."""
        declination = TILT * jnp.cos(season_angle(seconds))
        along = jnp.cos(declination) * np.cos(self.latitude)
        across = jnp.sin(declination) * np.sin(self.latitude)
        hour = 2 * math.pi * (seconds / DAY) + self.longitude - math.pi
        half = jnp.arccos(jnp.clip(-across / along, -1.0, 1.0))  # hour angle of sunset
        mean = (half * across + jnp.sin(half) * along) / math.pi
        return jnp.maximum(0.0, across + along * jnp.cos(hour)) - mean


def season_angle(seconds: Any) -> Any:
    """0 at the northern summer solstice."""
    return 2 * math.pi * (seconds - SOLSTICE) / YEAR


def second(units: Any) -> float:
    """One second in the model's own unit of time."""
    return float(units.nondimensionalize(1.0 * scales.units.second))
