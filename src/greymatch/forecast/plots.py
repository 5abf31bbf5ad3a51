"""Pictures of forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean
from greymatch.forecast import ensemble

if TYPE_CHECKING:
    from greymatch.forecast.forecast import Forecast

_BANDS = ((0.9, 0.2), (0.5, 0.35))  # level, opacity


def plot_forecast(
    forecast: Forecast,
    trajectory: int = 0,
    state: str | None = None,
    truth: Trajectories | None = None,
    history: Trajectories | None = None,
    ax: Any = None,
) -> Any:
    """Mean and bands of one state (the first unless named); fields are averaged over their grid."""
    import matplotlib.pyplot as plt

    name = _state(forecast, state)
    row = _row(forecast, trajectory)
    place = {"loc": "best"} if ax else {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    ax = plt.subplots(figsize=(8, 3.5), layout="constrained")[1] if ax is None else ax
    _draw_bands(ax, forecast, row, forecast.states.index(name))
    label = forecast.labels[row]
    _draw_points(ax, truth, name, label, {"color": "black", "marker": ".", "ms": 3, "lw": 0, "label": "truth"})
    _draw_points(ax, history, name, label, {"color": "tab:orange", "marker": ".", "ms": 5, "lw": 0, "label": "given"})
    ax.axvline(float(forecast.start[row]), color="grey", lw=0.8, ls=":")
    ax.set_xlabel(_with_unit("time", forecast.units))
    mean_of = f", mean over {', '.join(forecast.grid)}" if forecast.grid else ""
    ax.set_ylabel(_with_unit(name, forecast.units) + mean_of)
    ax.set_title(f"trajectory {label}")
    ax.legend(**place, frameon=False)
    return ax


def _draw_bands(ax: Any, forecast: Forecast, row: int, state: int) -> None:
    asked = forecast.times[row].isfinite()
    times = forecast.times[row, asked].cpu().numpy()
    draws = _grid_mean(forecast.draws[:, row, :, state][:, asked], 2)
    if len(draws) > 1:
        for level, opacity in _BANDS:
            bounds = ensemble.quantile(draws, torch.tensor([(1 - level) / 2, (1 + level) / 2]))
            low, high = bounds.cpu().numpy()
            ax.fill_between(times, low, high, color="tab:blue", alpha=opacity, lw=0, label=f"{level:.0%}")
    ax.plot(
        times,
        ensemble.mean(draws).cpu().numpy(),
        color="tab:blue",
        label="mean" if len(draws) > 1 else "forecast",
    )


def _draw_points(ax: Any, data: Trajectories | None, name: str, label: object, style: dict[str, Any]) -> None:
    if data is None:
        return
    rows = np.flatnonzero(data.labels == label)
    if not rows.size or name not in data.states:
        raise GreymatchError(f"`truth` and `history` must hold state {name!r} of trajectory {label}; got {data!r}.")
    row, state = int(rows[0]), data.states.index(name)
    values = data.values[row, :, state].masked_fill(~data.mask[row, :, state], torch.nan)
    kept = data.times[row].isfinite()
    ax.plot(data.times[row, kept].cpu().numpy(), _grid_mean(values[kept], 1).cpu().numpy(), **style)


def _grid_mean(values: Tensor, axes: int) -> Tensor:
    return values.flatten(axes).nanmean(-1) if values.ndim > axes else values


def _state(forecast: Forecast, state: str | None) -> str:
    if state is not None and state not in forecast.states:
        raise GreymatchError(
            f"`state` must be one of {list(forecast.states)}; got {state!r}.{did_you_mean(state, forecast.states)}"
        )
    return state or forecast.states[0]


def _row(forecast: Forecast, trajectory: int) -> int:
    if not -len(forecast) <= trajectory < len(forecast):
        raise GreymatchError(
            f"`trajectory` must be a position among the {len(forecast)} trajectories, from 0; got {trajectory!r}."
        )
    return range(len(forecast))[trajectory]


def _with_unit(name: str, units: dict[str, str]) -> str:
    return f"{name} ({units[name]})" if name in units else name
