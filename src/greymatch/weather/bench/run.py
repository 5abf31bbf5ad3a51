"""One run of the weather benchmark: train, judge, keep; what is kept is not done again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from greymatch.bench.result import plain
from greymatch.errors import GreymatchError
from greymatch.files import write_json
from greymatch.training.run import MODEL
from greymatch.weather.archive import Archive
from greymatch.weather.bench.plan import Run, thinned
from greymatch.weather.judging import Court
from greymatch.weather.model.carrying import wind_correlation, winds_at
from greymatch.weather.model.model import WeatherModel, load
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.splits import Splits
from greymatch.weather.stability import spread_out, stability
from greymatch.weather.training.train import train
from greymatch.weather.winds import TRUE_WINDS

KEPT = (
    "rmse",
    "rmse_std",
    "acc",
    "acc_std",
    "rmse_paper",
    "acc_paper",
    "bias",
    "rmse_map",
    "spectrum",
    "spectrum_truth",
)
_ALIKE = ("settings", "share", "starts")


@dataclass(frozen=True, eq=False)
class Bench:
    """What all runs share: the archive, who judges, the true winds if they are known, and where results go."""

    archive: Archive
    court: Court
    winds: Archive | None
    folder: Path
    days: int
    quiet: bool = False

    def scores(self, name: str) -> xr.Dataset:
        """What was kept of a run or of a reference."""
        with xr.open_dataset(self._scores_file(name), engine="h5netcdf") as found:
            return found.load()

    def refer(self) -> None:
        """Judge the references, unless that is done."""
        for name, predict in self.court.references().items():
            if not self._scores_file(name).exists():
                self._keep(name, self.court.judge(predict))

    def perform(self, run: Run) -> dict[str, Any]:
        """The result of a run; one that is there is only read."""
        asked = {
            "settings": run.settings().model_dump(mode="json"),
            "share": run.share,
            "starts": len(self.court.starts),
        }
        path = self.folder / "runs" / f"{run.name}.json"
        if path.exists() and self._scores_file(run.name).exists():
            return self._lengthened(_same(json.loads(path.read_text()), asked, path), run, path)
        model = self.trained(run)
        self._keep(run.name, self.court.judge(model.predictor(self.archive, self.court.leads)))
        result = {"name": run.name, "method": run.method, "seed": run.seed, **asked, "record": model.record}
        result |= {"winds": self.wind_correlations(model), "stability": self._stability(model)}
        write_json(path, plain(result))
        return result

    def _lengthened(self, result: dict[str, Any], run: Run, path: Path) -> dict[str, Any]:
        """With the long forecasts that are asked for, if it has none."""
        if self.days and not result["stability"]:
            result["stability"] = self._stability(self.trained(run))
            write_json(path, plain(result))
        return result

    def trained(self, run: Run) -> WeatherModel:
        where = self.folder / "runs" / run.name
        if (where / MODEL).exists():
            return load(where / MODEL)
        data = thinned(self.archive, run.share, Splits())
        begun = (where / "last.safetensors").exists()
        return train(data, settings=run.settings(), folder=where, resume=begun, quiet=self.quiet)

    def wind_correlations(self, model: WeatherModel) -> dict[str, float]:
        """With the true wind at the height of a field, over the starts that are judged."""
        found = None if self.winds is None else winds_at(model, self.archive, self.court.starts)
        if self.winds is None or found is None:
            return {}
        truth = dict(zip(self.winds.names, np.moveaxis(self.winds.maps(self.court.starts), 1, 0), strict=True))
        names = self.archive.names
        return {
            field: wind_correlation(found[:, :, names.index(field)], np.stack([truth[one] for one in pair], 1))
            for field, pair in TRUE_WINDS.items()
            if field in names
        }

    def _stability(self, model: WeatherModel) -> dict[str, Any] | None:
        if not self.days:
            return None
        starts = spread_out(self.court.starts)
        return stability(model, self.archive, self.court.train, starts, self.days).plain()

    def _scores_file(self, name: str) -> Path:
        return self.folder / "runs" / name / "scores.nc"

    def _keep(self, name: str, scores: xr.Dataset) -> None:
        path = self._scores_file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        scores[list(KEPT)].astype(np.float32).to_netcdf(path, engine="h5netcdf")


def _same(found: dict[str, Any], asked: dict[str, Any], path: Path) -> dict[str, Any]:
    # settings that came to be later have what they are worth by default
    known = {**found, "settings": WeatherSettings(**found["settings"]).model_dump(mode="json")}
    differing = [key for key in _ALIKE if known.get(key) != asked[key]]
    if differing:
        raise GreymatchError(f"{str(path)!r} is of another run: {', '.join(differing)} differ. Choose another --out.")
    return found
