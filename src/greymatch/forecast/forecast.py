"""`Forecast`: draws of the future of each trajectory, labelled."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from greymatch.data.checks import check_times
from greymatch.errors import GreymatchError
from greymatch.forecast import ensemble
from greymatch.forecast.chunks import chunks
from greymatch.forecast.times import last_observed
from greymatch.simulation.status import Status

if TYPE_CHECKING:
    import xarray as xr

    from greymatch.data.trajectories import Trajectories


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """Draws x_d(t_ij) of the future, d = 1..D, of trajectories i = 1..N at the times asked.

    ```python
    forecast = model.forecast(history, times=torch.arange(2.5, 20, 0.1), draws=100)
    forecast.mean()["angle"].sel(trajectory=3)
    low, high = forecast.interval(0.9)
    forecast.plot(trajectory=3, truth=test)
    gm.write(forecast, "forecast.nc")
    ```

    `draws` (D, N, T, S, *grid) are NaN where a member failed or a time was not asked; `times` (N, T) are padded
    with inf; lead times are `times - start[:, None]`. `status` (D, N) says how each member ended (`Status`).
    Means and quantiles leave failed draws out and use the rest. `epoch` as in `Trajectories`.

    Not for the paths of single draws in phase space: velocities of second-order systems are not kept.
    """

    draws: Tensor
    times: Tensor
    start: Tensor
    states: tuple[str, ...]
    labels: np.ndarray
    status: Tensor
    grid: tuple[str, ...] = ()
    grid_coords: dict[str, np.ndarray] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    epoch: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_times(self.times, self.labels)
        wanted = (*self.times.shape, len(self.states))
        if tuple(self.draws.shape[1:4]) != wanted or self.draws.ndim != 4 + len(self.grid) or not len(self.draws):
            raise GreymatchError(
                f"`draws` must be (draw, trajectory, time, state, *grid) = {('D', *wanted, *self.grid)}, with at "
                f"least one draw; got {tuple(self.draws.shape)}."
            )
        if self.status.shape != self.draws.shape[:2] or self.start.shape != self.times.shape[:1]:
            raise GreymatchError(
                f"`status` must be (draw, trajectory) = {tuple(self.draws.shape[:2])} and `start` (trajectory,); "
                f"got {tuple(self.status.shape)} and {tuple(self.start.shape)}."
            )

    @staticmethod
    def of(history: Trajectories, times: Tensor, draws: Tensor, status: Tensor | None = None) -> Forecast:
        """Draws of what follows `history`, with its labels; without a `status` every member is solved."""
        asked = times.isfinite().reshape(*times.shape, *[1] * (draws.ndim - 3))
        solved = torch.full(draws.shape[:2], Status.SOLVED, device=draws.device)
        return Forecast(
            draws=draws.masked_fill(~asked, torch.nan),
            times=times,
            start=last_observed(history),
            states=history.states,
            labels=history.labels,
            status=solved if status is None else status,
            grid=history.grid,
            grid_coords=history.grid_coords,
            units=history.units,
            epoch=history.epoch,
        )

    def __len__(self) -> int:
        return self.times.shape[0]

    @property
    def failed(self) -> int:
        """How many members (draws of a trajectory) could not be solved to the end."""
        return int((self.status != Status.SOLVED).sum())

    @property
    def lead(self) -> Tensor:
        """Time since the last observation (N, T), inf where nothing was asked."""
        return self.times - self.start[:, None]

    def mean(self) -> xr.Dataset:
        """Mean of the draws, by state name over (trajectory, time, *grid)."""
        return self._summary(ensemble.mean(self.draws))

    def std(self) -> xr.Dataset:
        """Standard deviation of the draws (unbiased); NaN for a single draw."""
        return self._summary(torch.cat([ensemble.variance(part).sqrt() for part in self._parts()]))

    def quantile(self, q: float | Sequence[float]) -> xr.Dataset:
        """Quantile `q` of the draws, or several of them along a leading `quantile` axis."""
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if not bool(((levels >= 0) & (levels <= 1)).all()) or levels.ndim > 1:
            raise GreymatchError(f"`q` must lie in [0, 1]; got {q!r}. For a percentage divide by 100.")
        values = torch.cat([ensemble.quantile(part, torch.as_tensor(levels)) for part in self._parts()], 1)
        return self._summary(values[0]) if np.ndim(q) == 0 else self._summary(values, {"quantile": levels})

    def interval(self, level: float = 0.9) -> tuple[xr.Dataset, xr.Dataset]:
        """Bounds between which the central share `level` of the draws lies."""
        check_level(level)
        both = self.quantile([(1 - level) / 2, (1 + level) / 2])
        return both.isel(quantile=0, drop=True), both.isel(quantile=1, drop=True)

    def to_dataset(self) -> xr.Dataset:
        """Every draw, over (draw, trajectory, time, *grid), and `status` over (draw, trajectory)."""
        from greymatch.forecast.labelled import to_dataset

        return to_dataset(self)

    @staticmethod
    def from_dataset(dataset: xr.Dataset) -> Forecast:
        """What `to_dataset` wrote."""
        from greymatch.forecast.labelled import from_dataset

        return from_dataset(dataset)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Forecast:
        """What `gm.write` wrote, in any of its formats."""
        from greymatch.forecast.tables import read_forecast

        return read_forecast(Path(path))

    def plot(
        self,
        trajectory: int = 0,
        state: str | None = None,
        truth: Trajectories | None = None,
        history: Trajectories | None = None,
        ax: Any = None,
    ) -> Any:
        """Mean and 50 and 90 % bands of one state along the trajectory at a position; returns the axes."""
        from greymatch.forecast.plots import plot_forecast

        return plot_forecast(self, trajectory, state, truth, history, ax)

    def _summary(self, values: Tensor, lead: dict[str, np.ndarray] | None = None) -> xr.Dataset:
        from greymatch.forecast.labelled import summary

        return summary(self, values, lead)

    def _parts(self) -> list[Tensor]:
        return [self.draws[:, rows] for rows in chunks(self.draws)]

    def __repr__(self) -> str:
        shape = f" on {'x'.join(map(str, self.draws.shape[4:]))} grid" if self.grid else ""
        lead = self.lead[self.times.isfinite()]
        return (
            f"Forecast({_counted(len(self.draws), 'draw')} x {_counted(len(self), 'trajectory')} x "
            f"{_counted(self.times.shape[1], 'time')} of {', '.join(self.states)}{shape}, "
            f"lead {float(lead.min()):g} to {float(lead.max()):g}, {self._failures()})"
        )

    def _failures(self) -> str:
        kinds = Counter(Status(code) for code in self.status.flatten().tolist() if code)
        what = ", ".join(f"{count} {status.name.lower().replace('_', ' ')}" for status, count in kinds.items())
        return f"{self.failed} of {self.status.numel()} members failed: {what}" if kinds else "no failures"


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise GreymatchError(f"`level` must lie between 0 and 1; got {level!r}. For a percentage divide by 100.")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else noun.replace('trajectory', 'trajectorie') + 's'}"
