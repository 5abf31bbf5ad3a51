"""Models and references on the same starts, for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import xarray as xr

from greymatch.weather.archive import Archive
from greymatch.weather.clock import after
from greymatch.weather.judging import Court
from greymatch.weather.labelled import labelled
from greymatch.weather.model.carrying import winds_at
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.winds import TRUE_WINDS


@dataclass(frozen=True, eq=False)
class Judged:
    """Models by name, the first of which the page is about; `winds` are the true ones, where they are known."""

    models: dict[str, WeatherModel]
    archive: Archive
    court: Court
    winds: Archive | None

    @cached_property
    def scored(self) -> dict[str, list[xr.Dataset]]:
        """Scores of every model and reference."""
        rows = {name: model.predictor(self.archive, self.court.leads) for name, model in self.models.items()}
        rows |= self.court.references()
        return {name: [self.court.judge(predict)] for name, predict in rows.items()}

    @property
    def ours(self) -> str:
        return next(iter(self.models))

    @property
    def moment(self) -> np.ndarray:
        """The start in the middle, whose forecast is shown."""
        middle = len(self.court.starts) // 2
        return self.court.starts[middle : middle + 1]

    def shown(self, lead: int) -> tuple[xr.Dataset, xr.Dataset]:
        """Forecast and truth over (lat, lon), from that start."""
        forecast = self.models[self.ours].predictor(self.archive, [lead])(self.moment)
        valid = after(self.moment, np.asarray([lead]), self.archive.step)
        truth = labelled(self.archive, self.moment, [lead], self.archive.maps(valid))
        return forecast.isel(time=0, lead=0), truth.isel(time=0, lead=0)

    def carrying(self, field: str) -> dict[str, np.ndarray]:
        """Winds (2, lat, lon) at that start by who says so, the truth first; empty where nothing is carried."""
        found = {name: winds_at(model, self.archive, self.moment) for name, model in self.models.items()}
        place = self.archive.names.index(field)
        said = {name: winds[0, :, place] for name, winds in found.items() if winds is not None}
        if not said or self.winds is None:
            return said
        truth = self.winds.maps(self.moment)[0]
        return {"true wind": np.stack([truth[self.winds.names.index(name)] for name in TRUE_WINDS[field]]), **said}


def named(models: Sequence[WeatherModel], paths: Sequence[Path]) -> dict[str, WeatherModel]:
    """By method; those that share one are told apart by their folder."""
    methods = [model.network.settings.method for model in models]
    return {
        method if methods.count(method) == 1 else f"{method} {path.parent.name}": model
        for method, model, path in zip(methods, models, paths, strict=True)
    }
