"""Years of simulated weather on disk, one after the other; the same call goes on where it stopped."""

from __future__ import annotations

import calendar
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.layouts import wb1, wb2
from greymatch.weather.layouts.storing import finished
from greymatch.weather.simulation.forcing import DAY, Strength
from greymatch.weather.simulation.model import SEEN_EVERY, Model
from greymatch.weather.simulation.state import load_state, save_state

LAYOUTS: dict[str, Any] = {"wb1": wb1, "wb2": wb2}
STORE = "simulated.zarr"  # of the layout wb2, inside the folder
Tell = Callable[[int, int, int], None]
"""Called with the year, the day of it that is done and the days it has."""


@dataclass(frozen=True)
class Recipe:
    """What a simulation depends on."""

    seed: int = 0
    spin_up: int = 200
    strength: Strength = Strength()  # noqa: RUF009 - frozen

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def simulate(folder: Path, years: Sequence[int], layouts: Sequence[str], recipe: Recipe, tell: Tell) -> list[int]:
    """Simulate `years`, which follow each other, into `folder`; those that are there are kept. Gives the new ones."""
    missing = [year for year in years if any(year not in _finished(folder, layout) for layout in layouts)]
    if not missing:
        return []
    model = _model(recipe.strength)
    state = _start(folder, model, years[0], recipe, tell) if missing[0] == years[0] else None
    for year in range(missing[0], years[-1] + 1):
        state = state or load_state(_state_file(folder, year - 1), recipe.text())
        state, maps = _year(model, state, year, recipe, tell)
        for layout in layouts:
            if year not in _finished(folder, layout):
                LAYOUTS[layout].write_year(place(folder, layout), year, maps, _constants(model))
        save_state(_state_file(folder, year), state, recipe.text())
    return missing


@lru_cache(maxsize=1)
def _model(strength: Strength) -> Model:
    """Kept, since its compilation takes longer than some days of it."""
    return Model(strength)


def place(folder: Path, layout: str) -> Path:
    """Where a layout begins inside the folder."""
    return folder / STORE if layout == "wb2" else folder


def _finished(folder: Path, layout: str) -> set[int]:
    return finished(LAYOUTS[layout].ledger(place(folder, layout)))


def _state_file(folder: Path, year: int) -> Path:
    """The state at the end of a year."""
    return folder / "simulation" / f"end-of-{year}.npz"


def _start(folder: Path, model: Model, first: int, recipe: Recipe, tell: Tell) -> Any:
    """Weather as it is after the spin-up, which ends with the year before the first."""
    file = _state_file(folder, first - 1)
    if file.exists():
        return load_state(file, recipe.text())
    state = model.at_rest(recipe.seed)
    for day in range(-recipe.spin_up, 0):
        state, _ = model.day(state, (day % 365) * DAY)
        tell(first - 1, recipe.spin_up + day + 1, recipe.spin_up)
    save_state(file, state, recipe.text())
    return state


def _year(model: Model, state: Any, year: int, recipe: Recipe, tell: Tell) -> tuple[Any, xr.Dataset]:
    days, seen = days_in(year), []
    for day in range(days):
        state, maps = model.day(state, day * DAY)
        if not all(np.isfinite(values).all() for values in maps.values()):
            raise GreymatchError(f"the simulation became unstable on day {day} of {year}; weaken its forcing.")
        seen.append(maps)
        tell(year, day + 1, days)
    return state, _labelled(model, year, seen, recipe)


def days_in(year: int) -> int:
    return 365 + calendar.isleap(year)


def _labelled(model: Model, year: int, seen: list[dict[str, np.ndarray]], recipe: Recipe) -> xr.Dataset:
    joined = {name: np.concatenate([maps[name] for maps in seen]).astype(np.float32) for name in seen[0]}
    count = len(next(iter(joined.values())))
    start = np.datetime64(f"{year}-01-01T00:00:00", "ns")
    times = start + np.arange(count) * np.timedelta64(int(SEEN_EVERY), "s")
    data = xr.Dataset({name: (("time", "lat", "lon"), values) for name, values in joined.items()}, _axes(model))
    return data.assign_coords(time=times).assign_attrs(_labels(recipe))


def _labels(recipe: Recipe) -> dict[str, Any]:
    return {
        "simulated": 1,
        "title": "Simulated atmosphere on an invented planet: not observations, not ERA5",
        "source": "dinosaur dynamical core, T21 with 8 layers, forced by greymatch",
        "recipe": recipe.text(),
    }


def _constants(model: Model) -> xr.Dataset:
    dims = ("lat", "lon")
    still = {"orography": (dims, model.view.orography), "land": (dims, model.view.land)}
    return xr.Dataset(still, _axes(model)).astype(np.float32)


def _axes(model: Model) -> dict[str, np.ndarray]:
    lat, lon = model.view.degrees
    return {"lat": np.round(lat, 6), "lon": np.round(lon, 6)}
