"""Between `Forecast` and xarray Datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from greymatch.data.axes import clock, noted_epoch, plain
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.simulation.status import Status

if TYPE_CHECKING:
    from greymatch.forecast.forecast import Forecast


def summary(forecast: Forecast, values: Tensor, lead: dict[str, np.ndarray] | None = None) -> xr.Dataset:
    """Values (*lead, N, T, S, *grid) as variables by state over (*lead, trajectory, time, *grid).

    The axes after `lead` are labelled as those of `Trajectories`.
    """
    lead = lead or {}
    frame = _frame(forecast)
    dims = (*lead, "trajectory", "time", *forecast.grid)
    axis = len(lead) + 2
    arrays = values.detach().cpu().movedim(axis, 0)[..., : frame.sizes["time"], *[slice(None)] * len(forecast.grid)]
    variables = {name: (dims, arrays[i].numpy(), frame[name].attrs) for i, name in enumerate(forecast.states)}
    coords = dict(frame.coords) | {name: ((name,), labels) for name, labels in lead.items()}
    return xr.Dataset(variables, coords).assign_coords(start=("trajectory", forecast.start.cpu().numpy()))


def to_dataset(forecast: Forecast) -> xr.Dataset:
    """Every draw, and how each member ended."""
    dataset = summary(forecast, forecast.draws, {"draw": np.arange(len(forecast.draws))})
    flags = {
        "flag_values": np.array([int(status) for status in Status], dtype=np.int8),
        "flag_meanings": " ".join(status.name.lower() for status in Status),
    }
    status = forecast.status.cpu().numpy().astype(np.int8)
    return dataset.assign(status=(("draw", "trajectory"), status, flags))


def from_dataset(dataset: xr.Dataset) -> Forecast:
    """The forecast that `to_dataset` wrote."""
    from greymatch.forecast.forecast import Forecast

    _check(dataset)
    own = {str(name): array for name, array in dataset.data_vars.items() if name != "status"}
    names = sorted(own, key=lambda name: own[name].attrs.get("order", 0))
    grid = tuple(str(dim) for dim in own[names[0]].dims if dim not in ("draw", "trajectory", "time"))
    dims = ("draw", "trajectory", "time", *grid)
    draws = np.stack([own[name].transpose(*dims).values for name in names], axis=3)
    units = {str(name): array.attrs.get("units") for name, array in dataset.variables.items()}
    main = clock(dataset, "trajectory", "time")
    return Forecast(
        draws=torch.as_tensor(draws),
        times=torch.tensor(main.times),
        start=torch.as_tensor(dataset["start"].values.astype(np.float64)),
        states=tuple(names),
        labels=plain(dataset["trajectory"].values),
        status=torch.as_tensor(dataset["status"].transpose("draw", "trajectory").values.astype(np.int64)),
        grid=grid,
        grid_coords={dim: np.asarray(dataset[dim].values) for dim in grid if dim in dataset.coords},
        units={name: str(unit) for name, unit in units.items() if unit is not None},
        epoch=noted_epoch(dataset, "trajectory", main, units.get("time")),
    )


def _frame(forecast: Forecast) -> xr.Dataset:
    """The labels of the axes, as `Trajectories` writes them; the values are of no account."""
    values = torch.zeros((*forecast.times.shape, *forecast.draws.shape[3:]))
    return Trajectories(
        states=forecast.states,
        times=forecast.times,
        values=values,
        mask=torch.zeros_like(values, dtype=torch.bool),
        labels=forecast.labels,
        grid=forecast.grid,
        grid_coords=forecast.grid_coords,
        units=forecast.units,
        epoch=forecast.epoch,
    ).to_dataset()


def _check(dataset: xr.Dataset) -> None:
    missing = [name for name in ("status", "start", "time", "trajectory") if name not in dataset.variables]
    if missing or "draw" not in dataset.dims:
        raise GreymatchError(
            f"`dataset` must be what `Forecast.to_dataset` wrote; it lacks {missing or ['the axis draw']}. "
            "Read recordings with `Trajectories.from_dataset` instead."
        )
