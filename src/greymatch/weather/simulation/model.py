# pyright: reportMissingImports=false
"""The dynamical core: T21 primitive equations on eight layers, a day at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dinosaur import filtering, primitive_equations, primitive_equations_states, scales, time_integration
from dinosaur.coordinate_systems import CoordinateSystem
from dinosaur.sigma_coordinates import SigmaCoordinates
from dinosaur.spherical_harmonic import Grid
from dinosaur.units import SimUnits

from greymatch.weather.simulation.forcing import DAY, Forcing, Strength, second
from greymatch.weather.simulation.planet import land_fraction, mountains
from greymatch.weather.simulation.view import View, degrees

LAYERS, STEP, SEEN_EVERY = 8, 1800.0, 21600.0  # seconds
RESTING = 288.0  # kelvin


@dataclass(frozen=True, eq=False)
class Model:
    """Fluid on a rotating sphere with mountains, driven by `Forcing`.

    ```python
    model = Model()
    state = model.at_rest(seed=0)
    state, fields = model.day(state, 0.0)   # the first of January: fields at 0, 6, 12 and 18 h UTC
    ```

    Stepped on the Gaussian grid, seen on the regular one of 32 x 64 cells by exact synthesis of the spectrum.
    Dry, coarse, and without clouds: not for the weather of any real day.
    """

    strength: Strength = field(default_factory=Strength)

    @cached_property
    def coords(self) -> CoordinateSystem:
        return CoordinateSystem(Grid.T21(), SigmaCoordinates.equidistant(LAYERS))

    @cached_property
    def units(self) -> SimUnits:
        return SimUnits.from_si()

    @cached_property
    def reference(self) -> np.ndarray:
        return np.full(LAYERS, RESTING)

    @cached_property
    def height(self) -> np.ndarray:
        """Of the ground (lon, lat) on the Gaussian grid, in the model's units."""
        return np.asarray(self.units.nondimensionalize(mountains(*degrees(self.coords.horizontal)).T * scales.units.m))

    @cached_property
    def ground(self) -> Any:
        """The height as a spectrum, smoothed, so that it does not ring about steep coasts."""
        spectrum = primitive_equations.truncated_modal_orography(self.height, self.coords, wavenumbers_to_clip=2)
        return filtering.exponential_filter(self.coords.horizontal, attenuation=3, order=1)(spectrum)

    @cached_property
    def view(self) -> View:
        grid = Grid.T21(latitude_spacing="equiangular")
        return View(grid, self.coords.vertical, self.units, self.reference, self.ground, land_fraction(*degrees(grid)))

    def at_rest(self, seed: int) -> Any:
        """Still air of one temperature, and a bump of pressure somewhere, which grows into weather."""
        smooth = self.units.dimensionalize(np.asarray(self.coords.horizontal.to_nodal(self.ground)), scales.units.m)
        make, _ = primitive_equations_states.isothermal_rest_atmosphere(
            self.coords, self.units, p1=5e3 * scales.units.pascal, surface_height=smooth
        )
        return replace(make(jax.random.key(seed)), sim_time=jnp.float32(0.0))

    def day(self, state: Any, seconds: float) -> tuple[Any, dict[str, np.ndarray]]:
        """The state a day later, and the fields (4, lat, lon) from `seconds` after the start of the year on."""
        moments = seconds + SEEN_EVERY * np.arange(round(DAY / SEEN_EVERY))
        state, fields = self._advance(state, jnp.asarray(moments * second(self.units), dtype=jnp.float32))
        return state, {name: np.asarray(values) for name, values in fields.items()}

    @cached_property
    def _advance(self) -> Callable[..., Any]:
        between = time_integration.repeated(self._step(), round(SEEN_EVERY / STEP))

        def next_view(state: Any, moment: Any) -> tuple[Any, Any]:
            # the clock is set anew each time: adding up half hours would let it drift
            state = replace(state, sim_time=moment)
            return between(state), self.view(state)

        return jax.jit(lambda state, moments: jax.lax.scan(next_view, state, moments))

    def _step(self) -> Callable[[Any], Any]:
        step = STEP * second(self.units)
        land = land_fraction(*degrees(self.coords.horizontal)).T
        fluid = primitive_equations.PrimitiveEquations(self.reference, self.ground, self.coords, self.units)
        forced = Forcing(self.coords, self.units, self.reference, land, self.strength)
        equations = time_integration.compose_equations([fluid, forced])
        smooth = time_integration.exponential_step_filter(
            self.coords.horizontal, step, tau=0.0087504, order=1.5, cutoff=0.8
        )
        return time_integration.step_with_filters(time_integration.imex_rk_sil3(equations, step), [smooth])
