"""All that is learned of the weather, with the units it is learned in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from greymatch.errors import GreymatchError
from greymatch.together import normal
from greymatch.weather.archive import Archive
from greymatch.weather.climode.dynamics import SecondOrder
from greymatch.weather.fields import FIELDS, FORECAST
from greymatch.weather.model.dynamics import Dynamics, Moment, Rate
from greymatch.weather.model.known import Known
from greymatch.weather.model.surroundings import Surroundings
from greymatch.weather.scaling import Scaling
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.sphere.rows import check_globe


@dataclass(frozen=True)
class Shape:
    """What the archive of a network is like: its fields, grid and step, in hours or "month"."""

    names: tuple[str, ...]
    rows: int
    columns: int
    step: int | str

    @property
    def hours(self) -> float:
        """From a state to the next; months are counted by their mean."""
        return MONTH if self.step == "month" else float(self.step)

    @property
    def unit(self) -> int:
        """What one step is in leads: those are hours, or months."""
        return 1 if self.step == "month" else int(self.step)

    @property
    def unit_text(self) -> str:
        return "a month" if self.step == "month" else f"{self.step} hours"

    @staticmethod
    def of(archive: Archive) -> Shape:
        lat, lon = (archive.fields[axis].values.tolist() for axis in ("lat", "lon"))
        check_globe(lat, lon)
        return Shape(archive.names, len(lat), len(lon), archive.step)

    def check(self, archive: Archive) -> None:
        other = Shape.of(archive)
        if other != self:
            raise GreymatchError(
                f"{archive.where} must be like what was learned from, {asdict(self)}; it is {asdict(other)}."
            )


MONTH = 365.2425 * 24 / 12  # hours
UNITS = ("center", "spread", "change", "low", "high")
"""What `Scaling` tells of the training years."""
MARGIN = 0.25
"""How far a forecast may leave what a row has seen, in widths of that range."""


class WeatherNetwork(nn.Module):
    """The field du/dt, for states in units of spread; `noise` (C,) tells how far off it is, as the loop learned."""

    center: Tensor
    spread: Tensor
    change: Tensor
    low: Tensor
    high: Tensor
    noise: Tensor

    def __init__(self, settings: WeatherSettings, shape: Shape, tensors: dict[str, Tensor]) -> None:
        """`tensors` are center, spread and change (C,) of the fields, their low and high (C, lat), land and height."""
        super().__init__()
        self.settings, self.shape = settings, shape
        for name in UNITS:
            self.register_buffer(name, tensors[name].clone())
        self.register_buffer("noise", torch.ones(len(shape.names)))
        flips = torch.tensor([-1.0 if FIELDS[name].component else 1.0 for name in shape.names])
        around = Surroundings(tensors["land"], tensors["height"])
        known = _known(settings, shape, tensors, flips)
        self.dynamics: Any = (
            SecondOrder(settings, around, flips, shape.hours)
            if settings.method == "climode"
            else Dynamics(settings, around, known, flips, shape.hours)
        )

    @staticmethod
    def fitting(settings: WeatherSettings, train: Archive) -> WeatherNetwork:
        """A new network for an archive, in the units of its years."""
        scaling, still = Scaling.of(train), train.constants
        land, height = (torch.as_tensor(np.asarray(still[name].values)).float() for name in ("land", "orography"))
        tensors = {name: getattr(scaling, name) for name in UNITS}
        return WeatherNetwork(settings, Shape.of(train), tensors | {"land": land, "height": height})

    @property
    def scaling(self) -> Scaling:
        return Scaling(self.shape.names, *(getattr(self, name) for name in UNITS))

    @property
    def unit(self) -> Tensor:
        """The usual rate of each field (C, 1, 1), in units of spread per hour."""
        return (self.change / self.spread / self.shape.hours)[:, None, None]

    def fenced(self, states: Tensor) -> Tensor:
        """States (..., C, lat, lon) in units of spread, kept near what each row has seen in the training years."""
        margin = MARGIN * (self.high - self.low)
        ends = torch.stack([self.low - margin, self.high + margin])[..., None]
        low, high = self.scaling.apply(ends)
        return states.clamp(low, high)

    def rate(
        self,
        hours: Tensor,
        state: Tensor,
        past: Tensor,
        began: Tensor,
        noise: Tensor | None = None,
        recalled: Tensor | None = None,
    ) -> Rate:
        """At `hours` (B,) since 2000, of states (B, C, lat, lon) on the way from the last of `past` at `began` (B,).

        `recalled` is what the past says, where it is asked of more than once.
        """
        moment = Moment(hours, (hours - began) / self.shape.hours, recalled)
        return self.dynamics(moment, state, past, self.unit, noise)

    def noise_for(self, count: int, generator: torch.Generator) -> Tensor | None:
        """Noise (count, latents, lat, lon) that draws latents; None where none are drawn."""
        if not self.settings.net.variational:
            return None
        shape = (count, self.settings.net.latents, self.shape.rows, self.shape.columns)
        return normal(shape, generator, self.center)

    def describe(self) -> dict[str, Any]:
        return {"settings": self.settings.model_dump(), "shape": asdict(self.shape)}


def _known(settings: WeatherSettings, shape: Shape, tensors: dict[str, Tensor], flips: Tensor) -> Known | None:
    transport = settings.transport
    told = settings.method == "vgb-dm" and transport.known == "balanced"
    if not told or not set(FORECAST) <= set(shape.names):
        return None
    return Known(shape.names, tensors, flips, shape.hours, shape.hours / transport.substeps, transport.courant)
