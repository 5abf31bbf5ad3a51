"""`Track`: a parameter that drifts, window by window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather, observed_lengths
from greymatch.errors import GreymatchError, did_you_mean
from greymatch.forecast import ensemble
from greymatch.forecast.digits import interval_digits

if TYPE_CHECKING:
    from greymatch.models.network import Network

WINDOWS_AT_ONCE = 2048
_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Track:
    """Median and central interval of each parameter (N, K, P) from windows of N recordings, in physical units.

    ```python
    track = model.track(recording, every=5)
    track.to_dataset()["omega"].sel(value="median")
    track.plot("omega")
    ```

    Each window is told at the time (N, K) of its last point, and knows nothing of the others; NaN where a shorter
    recording has no more windows. Not a filter: a drift within one window is averaged.
    """

    names: tuple[str, ...]
    times: Tensor
    median: Tensor
    low: Tensor
    high: Tensor
    labels: np.ndarray
    level: float

    def __repr__(self) -> str:
        windows = self.times.isfinite()
        times = self.times[windows]
        head = (
            f"Track of {', '.join(self.names)} ({len(self.labels)} trajectories, up to {int(windows.sum(1).max())} "
            f"windows, t = {float(times.min()):g} to {float(times.max()):g}): median, first to last window"
        )
        lines = [self._line(row) for row in range(min(len(self.labels), _SHOWN))]
        more = [f"... {len(self.labels) - _SHOWN} more"] if len(self.labels) > _SHOWN else []
        return "\n".join([head, *lines, *more])

    def _line(self, row: int) -> str:
        last = int(self.times[row].isfinite().sum()) - 1
        found = (f"{name} {self._at(row, 0, i)} to {self._at(row, last, i)}" for i, name in enumerate(self.names))
        return f"{self.labels[row]}: {', '.join(found)}"

    def _at(self, row: int, window: int, parameter: int) -> str:
        median, low, high = (float(one[row, window, parameter]) for one in (self.median, self.low, self.high))
        return f"{median:.{interval_digits(low, high)}g}"

    def to_dataset(self) -> xr.Dataset:
        """By parameter name over (trajectory, window, value), value being "low", "median" or "high"."""
        values = torch.stack([self.low, self.median, self.high], 2).numpy()
        dims = ("trajectory", "window", "value")
        coords = {
            "trajectory": self.labels,
            "value": ["low", "median", "high"],
            "time": (("trajectory", "window"), self.times.numpy()),
        }
        return xr.Dataset({name: (dims, values[..., i]) for i, name in enumerate(self.names)}, coords)

    def plot(self, parameter: str | None = None, trajectory: int = 0, ax: Any = None) -> Any:
        """One parameter (the first unless named) of the trajectory at a position, with its band; returns the axes."""
        import matplotlib.pyplot as plt

        name = self.names[0] if parameter is None else parameter
        if name not in self.names:
            raise GreymatchError(
                f"`parameter` must be one of {list(self.names)}; got {name!r}.{did_you_mean(name, self.names)}"
            )
        if not 0 <= trajectory < len(self.labels):
            raise GreymatchError(f"`trajectory` must be a position from 0 to {len(self.labels) - 1}; got {trajectory}.")
        ax = plt.subplots(figsize=(8, 3.5), layout="constrained")[1] if ax is None else ax
        times = self.times[trajectory].numpy()
        low, middle, high = (one[trajectory, :, self.names.index(name)] for one in (self.low, self.median, self.high))
        ax.fill_between(times, low, high, color="tab:blue", alpha=0.25, lw=0, label=f"{self.level:.0%}")
        ax.plot(times, middle, color="tab:blue", marker=".", ms=4, label="median")
        ax.set(xlabel="time at the end of the window", ylabel=name, title=f"trajectory {self.labels[trajectory]}")
        ax.legend(loc="best", frameon=False)
        return ax


def track(
    network: Network, data: Trajectories, level: float, every: int, draws: int, refine: bool | None, seed: int
) -> Track:
    """Every window of each trajectory, `every` points apart."""
    rows, ends = _windows(network, data, every)
    generator = torch.Generator(data.times.device).manual_seed(seed)
    parts = []
    for some in torch.arange(len(rows), device=rows.device).split(WINDOWS_AT_ONCE):
        window = gather(data, rows[some], ends[some], network.settings.window)
        with torch.no_grad():
            eps = network.draw_parameters(network.look(window, refine), draws, generator)
        levels = torch.tensor([(1 - level) / 2, 0.5, (1 + level) / 2], dtype=torch.float64)
        parts.append(ensemble.quantile(network.physics.push(eps).cpu(), levels))
    low, median, high = (_by_row(part, rows.cpu(), len(data)) for part in torch.cat(parts, 1))
    times = _by_row(data.times[rows, ends].cpu()[:, None], rows.cpu(), len(data))[..., 0]
    return Track(tuple(network.physics.params), times, median, low, high, data.labels, level)


def _windows(network: Network, data: Trajectories, every: int) -> tuple[Tensor, Tensor]:
    """Rows and last points of all windows."""
    window, lengths = network.settings.window, observed_lengths(data)
    if int(lengths.min()) < window:
        raise GreymatchError(
            f"`data` must hold recordings of at least {window} points, the model's window; "
            f"the shortest has {int(lengths.min())}."
        )
    ends = torch.arange(window - 1, int(lengths.max()), every, device=lengths.device)
    pairs = (ends < lengths[:, None]).nonzero()
    return pairs[:, 0], ends[pairs[:, 1]]


def _by_row(values: Tensor, rows: Tensor, count: int) -> Tensor:
    """Values (W, P) of windows in the order of their rows, as (N, K, P) with NaN where a row has fewer."""
    found = torch.bincount(rows, minlength=count)
    place = torch.arange(len(rows)) - (found.cumsum(0) - found)[rows]
    table = values.new_full((count, int(found.max()), values.shape[1]), torch.nan)
    table[rows, place] = values
    return table
