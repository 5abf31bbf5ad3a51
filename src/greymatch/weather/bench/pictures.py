"""Pictures of weather: curves, maps with coastlines, winds and spectra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from greymatch.bench.pictures import Style, legend, panels
from greymatch.weather.fields import FIELDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "vgb-dm": Style("#0072B2", "o"),
    "black-box": Style("#E69F00", "s"),
    "climode": Style("#D55E00", "D"),
    "persistence": Style("#8a8a8a", "v"),
    "damped": Style("#009E73", "^"),
    "climatology": Style("#CC79A7", "P"),
}
TITLES = {"rmse": "RMSE", "acc": "ACC"}
WIDE = (2.4, 1.45)  # inches of a map
_RAISED = {"**-2": "⁻²", "**-1": "⁻¹", "**2": "²"}
Scored = Mapping[str, Sequence[xr.Dataset]]


def style_of(name: str) -> Style:
    """A method has its colour whatever share of the data it had."""
    return STYLES.get(name.partition(" ")[0], Style("#1a1a1a", "X"))


def curves(scored: Scored, score: str) -> Figure:
    """A score by lead, a panel for each field; thin lines are single seeds."""
    first = next(iter(scored.values()))[0]
    names = first["field"].values.tolist()
    figure, grid = panels([_titled(name) if score == "rmse" else name for name in names], (3.3, 2.6))
    for axes, field in zip(grid, names, strict=True):
        for name, seeds in scored.items():
            values = np.array([one[score].sel(field=field).values for one in seeds])
            look = style_of(name)
            if len(seeds) > 1:
                axes.plot(first["lead"], values.T, color=look.colour, lw=0.6, alpha=0.5)
            axes.plot(first["lead"], values.mean(0), color=look.colour, marker=look.marker, ms=3.5, lw=1.3)
        axes.set(xlabel=f"lead ({first['lead'].attrs.get('units', 'hours')})", ylabel=TITLES[score])
        axes.set_xticks(first["lead"].values)
    legend(figure, [_entry(name) for name in scored])
    return figure


def spectra(scored: Scored, lead: int) -> Figure:
    """Power by zonal wavenumber beside that of the truth: what lies below has been blurred."""
    from greymatch.bench.pictures import log_axes

    first = next(iter(scored.values()))[0]
    names = first["field"].values.tolist()
    figure, grid = panels(names, (3.3, 2.6))
    for axes, field in zip(grid, names, strict=True):
        at = {"lead": lead, "field": field}
        truth = first["spectrum_truth"].sel(at).values
        axes.plot(np.arange(1, len(truth)), truth[1:], color="#1a1a1a", lw=2)
        for name, seeds in scored.items():
            power = np.mean([one["spectrum"].sel(at).values for one in seeds], 0)
            axes.plot(np.arange(1, len(power)), power[1:], color=style_of(name).colour, lw=1.2)
        log_axes(axes)
        axes.set(xlabel="zonal wavenumber", ylabel="power")
    truth_line = _line(color="#1a1a1a", lw=2)
    legend(figure, [(truth_line, "truth"), *((_line(color=style_of(name).colour), name) for name in scored)])
    return figure


def error_maps(scored: Scored, land: np.ndarray, lead: int) -> Figure:
    """RMSE at each place, a row for each forecast and a column for each field; a column shares its colours."""
    first = next(iter(scored.values()))[0]
    names = first["field"].values.tolist()
    figure, grid = _sheet(len(scored), len(names))
    for column, field in enumerate(names):
        maps = [
            np.mean([one["rmse_map"].sel(lead=lead, field=field).values for one in seeds], 0)
            for seeds in scored.values()
        ]
        top = float(np.quantile(np.concatenate(maps), 0.99))
        drawn = [
            draw_map(axes, values, land, (0, top), "magma_r")
            for axes, values in zip(grid[:, column], maps, strict=True)
        ]
        figure.colorbar(drawn[0], ax=list(grid[:, column]), orientation="horizontal", pad=0.02, shrink=0.9)
        grid[0, column].set_title(_titled(field))
    for axes, name in zip(grid[:, 0], scored, strict=True):
        axes.set_ylabel(name)
    return figure


def forecast_maps(forecast: xr.Dataset, truth: xr.Dataset, land: np.ndarray) -> Figure:
    """Truth, forecast and error of one start and lead, a column for each field; datasets over (lat, lon)."""
    names = [str(name) for name in truth.data_vars]
    figure, grid = _sheet(3, len(names))
    for column, name in enumerate(names):
        said, was = forecast[name].values, truth[name].values
        ends, worst = (float(was.min()), float(was.max())), float(np.abs(said - was).max())
        rows = [(was, ends, "viridis"), (said, ends, "viridis"), (said - was, (-worst, worst), "RdBu_r")]
        drawn = [draw_map(axes, *_colours(row, land)) for axes, row in zip(grid[:, column], rows, strict=True)]
        figure.colorbar(drawn[1], ax=list(grid[:2, column]), orientation="horizontal", pad=0.02, shrink=0.9)
        figure.colorbar(drawn[2], ax=grid[2, column], orientation="horizontal", pad=0.02, shrink=0.9)
        grid[0, column].set_title(_titled(name))
    for axes, name in zip(grid[:, 0], ("truth", "forecast", "forecast - truth"), strict=True):
        axes.set_ylabel(name)
    return figure


def wind_maps(winds: Mapping[str, np.ndarray], land: np.ndarray) -> Figure:
    """Winds (2, lat, lon) as arrows over their speed, beside each other, with one scale of colours."""
    figure, grid = _sheet(1, len(winds), (4.6, 2.9))
    speeds = {name: np.hypot(*wind) for name, wind in winds.items()}
    top = max(float(np.quantile(speed, 0.99)) for speed in speeds.values())
    for axes, (name, wind) in zip(grid[0], winds.items(), strict=True):
        draw_map(axes, speeds[name], land, (0, top), "Blues")
        rows, columns = (np.arange(1, size, 2) for size in wind.shape[-2:])
        arrows = wind[:, rows[:, None], columns]
        axes.quiver(columns, rows, *arrows, scale=25 * top, width=0.002, color="#222222")
        axes.set_title(name)
    figure.colorbar(grid[0, 0].images[0], ax=list(grid[0]), shrink=0.8, label="m/s")
    return figure


def draw_map(axes: Axes, values: np.ndarray, land: np.ndarray, ends: tuple[float, float], colours: str) -> Any:
    """A map from south to north, with the coastlines that the land-sea mask has."""
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    drawn = axes.imshow(values, origin="lower", cmap=colours, vmin=ends[0], vmax=ends[1], interpolation="nearest")
    if land.min() < 0.5 < land.max():
        axes.contour(land, levels=[0.5], colors="#303030", linewidths=0.5)
    return drawn


def _colours(row: tuple[np.ndarray, tuple[float, float], str], land: np.ndarray) -> tuple[Any, ...]:
    values, ends, colours = row
    return values, land, ends, colours


def _sheet(rows: int, columns: int, panel: tuple[float, float] = WIDE) -> tuple[Figure, np.ndarray]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(panel[0] * columns, panel[1] * rows + 0.5), layout="constrained", dpi=110)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _titled(name: str) -> str:
    units = FIELDS[name].units if name in FIELDS else ""
    for plain, raised in _RAISED.items():
        units = units.replace(plain, raised)
    return f"{name} ({units})" if units else name


def _entry(name: str) -> tuple[Any, str]:
    look = style_of(name)
    return _line(color=look.colour, marker=look.marker, ms=4), name


def _line(**look: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **look)
