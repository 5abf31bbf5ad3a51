"""`WeatherModel`: forecasts of the weather, from a network that was learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.files import read_tensors, write_tensors
from greymatch.weather.archive import Archive
from greymatch.weather.axes import dates
from greymatch.weather.clock import Clock, after
from greymatch.weather.labelled import Predictor, labelled
from greymatch.weather.model.network import UNITS, Shape, WeatherNetwork
from greymatch.weather.model.rollout import roll_out
from greymatch.weather.references import LEADS
from greymatch.weather.settings import WeatherSettings

KIND, FORMAT = "weather", 3
_SEEDS = 10**8  # more than the hours of any date


@dataclass(frozen=True, eq=False)
class WeatherModel:
    """A field of weather that was learned, with the record of how.

    ```python
    model = gm.weather.train(archive, minutes=60)
    scores = gm.weather.evaluate(model.predictor(archive), parts["test"], usual)
    model.save("weather.safetensors")
    ```

    Not for other grids, fields or steps than it was learned on.
    """

    network: WeatherNetwork
    record: dict[str, Any] = field(default_factory=dict)

    def predictor(self, archive: Archive, leads: Sequence[int] = LEADS, draws: int = 1, seed: int = 0) -> Predictor:
        """From start dates to forecasts, for `evaluate` and `write_forecasts`.

        It sees the states of `archive` at a start and just before it; where those before are not there, the start
        stands for them. With `draws` above 1 it makes ensembles, which only a variational model can.
        """
        self.network.shape.check(archive)
        step = self.network.shape.unit
        wrong = [lead for lead in leads if lead < step or lead % step]
        if wrong or not len(leads):
            raise GreymatchError(
                f"`leads` must be multiples of the step, {self.network.shape.unit_text}; got {list(leads)}."
            )
        chosen = [lead // step - 1 for lead in leads]

        def predict(starts: np.ndarray) -> xr.Dataset:
            given = self.network.scaling.apply(self.given(archive, starts))
            hours = torch.from_numpy(Clock.of(starts).hours)
            members = [
                roll_out(self.network, given, hours, max(chosen) + 1, noise)[:, chosen]
                for noise in self._noises(hours, draws, seed)
            ]
            found = torch.stack(members, 2) if draws > 1 else members[0]
            return labelled(archive, starts, leads, self.network.scaling.undo(found).numpy())

        return predict

    def _noises(self, hours: torch.Tensor, draws: int, seed: int) -> list[torch.Tensor | None]:
        """For each member; a single one is the central forecast. A start has its own, whatever it is made with."""
        if draws == 1:
            return [None]
        settings = self.network.settings
        if settings.method == "climode" or not settings.net.variational:
            raise GreymatchError(
                f"`draws` = {draws} needs a model whose latents are drawn: train vgb-dm or black-box with "
                "net.variational=true."
            )
        own = [torch.Generator().manual_seed(seed * _SEEDS + int(hour)) for hour in hours]
        noises = ([self.network.noise_for(1, generator) for generator in own] for _ in range(draws))
        return [torch.cat([one for one in noise if one is not None]) for noise in noises]

    def given(self, archive: Archive, starts: np.ndarray) -> torch.Tensor:
        """The states (B, h + 1, C, lat, lon) up to each start."""
        ages = np.arange(self.network.settings.net.history, -1, -1) * self.network.shape.unit
        asked = after(starts, -ages, self.network.shape.step)
        known = dates(archive.fields).get_indexer(pd.DatetimeIndex(asked.ravel())).reshape(asked.shape) >= 0
        return torch.from_numpy(archive.maps(np.where(known, asked, asked[:, -1:])))

    def save(self, path: str | Path) -> Path:
        """As one safetensors file."""
        path = Path(path)
        if path.suffix != ".safetensors":
            raise GreymatchError(f"`path` must end in .safetensors; got {str(path)!r}.")
        header = {"kind": KIND, "format": FORMAT, **self.network.describe(), "record": self.record}
        write_tensors(path, self.network.state_dict(), header)
        return path


def load(path: str | Path) -> WeatherModel:
    """A weather model from its file."""
    tensors, header = read_tensors(Path(path))
    if header.get("kind") != KIND or header.get("format") != FORMAT:
        raise GreymatchError(
            f"{str(path)!r} must hold a weather model of format {FORMAT}; it holds a {header.get('kind')!r} of format "
            f"{header.get('format')!r}."
        )
    try:
        shape = Shape(**{**header["shape"], "names": tuple(header["shape"]["names"])})
        still = tensors["dynamics.surroundings.still"]
        units = {name: tensors[name] for name in UNITS}
        with torch.random.fork_rng(devices=[]):
            network = WeatherNetwork(
                WeatherSettings(**header["settings"]), shape, units | {"land": still[4], "height": still[5]}
            )
        network.load_state_dict(tensors)
    except (TypeError, KeyError, RuntimeError) as error:
        raise GreymatchError(f"{str(path)!r} does not hold the model its header describes: {error}") from None
    return WeatherModel(network.eval(), header.get("record", {}))
