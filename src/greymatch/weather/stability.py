"""Whether forecasts of many days stay within what weather is like."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from greymatch.weather.archive import Archive
from greymatch.weather.clock import Clock
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.model.rollout import roll_out

STARTS = 20
ALLOWED = 0.5  # widths of the range of the training data
_TOGETHER = 10


@dataclass(frozen=True)
class Stability:
    """How far forecasts left the range of the training data, in widths of it: by field, the worst of all starts.

    `lost` counts the starts whose forecast left it by more than half, or was no number.
    """

    days: int
    starts: int
    lost: int
    beyond: dict[str, float]

    @property
    def stable(self) -> bool:
        return not self.lost

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"stable": self.stable}

    def text(self) -> str:
        field = max(self.beyond, key=lambda name: self.beyond[name])
        return (
            f"{self.starts} forecasts to {self.days} days: {self.lost} left the range of the training data by more "
            f"than half its width; the farthest, {field}, by {self.beyond[field]:.2g} widths"
        )


def stability(model: WeatherModel, archive: Archive, train: Archive, starts: np.ndarray, days: int) -> Stability:
    """Of forecasts to `days` from `starts` in `archive`, beside the range of each field in `train`."""
    low, high = _range(model, train)
    width, worst = high - low, []
    for first in range(0, len(starts), _TOGETHER):
        found = _months(model, archive, starts[first : first + _TOGETHER], days)
        beyond = torch.maximum(found - high, low - found).amax((1, 3, 4)) / width.flatten()
        worst.append(beyond.nan_to_num(torch.inf, torch.inf, torch.inf).clamp_min(0))
    each = torch.cat(worst)
    lost = int((each > ALLOWED).any(1).sum())
    names = model.network.shape.names
    return Stability(days, len(starts), lost, dict(zip(names, each.amax(0).tolist(), strict=True)))


def spread_out(starts: np.ndarray) -> np.ndarray:
    """`STARTS` of them, from the first to the last."""
    return starts[np.linspace(0, len(starts) - 1, STARTS).round().astype(int)]


def _range(model: WeatherModel, train: Archive) -> tuple[torch.Tensor, torch.Tensor]:
    """Least and most of each field (C, 1, 1), in units of spread."""
    ends = [[float(part(train.fields[name])) for name in model.network.shape.names] for part in (np.min, np.max)]
    low, high = (model.network.scaling.apply(torch.tensor(end)[:, None, None]) for end in ends)
    return low, high


def _months(model: WeatherModel, archive: Archive, starts: np.ndarray, days: int) -> torch.Tensor:
    given = model.network.scaling.apply(model.given(archive, starts))
    hours = torch.from_numpy(Clock.of(starts).hours)
    return roll_out(model.network, given, hours, int(days * 24 // model.network.shape.hours))
