"""What must hold between physics and data before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.matching.path import AnyPath
from greymatch.physics.check import check_physics
from greymatch.physics.physics import Physics

CHECKED_ROWS = 256


def check_data(physics: Physics, data: Trajectories, argument: str) -> None:
    """Raise unless `data` hold the states, grid axes and inputs that the physics speaks of."""
    if not isinstance(physics, Physics):
        raise GreymatchError(f"`physics` must be a Physics; got {physics!r}. Write Physics(function, states=[...]).")
    if not isinstance(data, Trajectories):
        raise GreymatchError(
            f"`{argument}` must be Trajectories; got {type(data).__name__}. Use read(...) to make them."
        )
    if data.states != physics.states:
        raise GreymatchError(
            f"`{argument}` must hold the physics' states {list(physics.states)} in that order; "
            f"got {list(data.states)}. "
            f"Read them with states={list(physics.states)}."
        )
    if data.grid != physics.grid:
        raise GreymatchError(
            f"`{argument}` must have the physics' grid axes {list(physics.grid)}, in that order; "
            f"got {list(data.grid)}. {_grid_fix(physics, data)}"
        )
    names = data.inputs.names if data.inputs else ()
    if tuple(names) != physics.inputs:
        raise GreymatchError(
            f"physics declares inputs {list(physics.inputs)}; `{argument}` carries {list(names)}. "
            f"{_inputs_fix(physics, names)}"
        )
    if data.inputs is not None:
        rows = torch.arange(len(data), device=data.times.device)
        data.inputs.check_covers(rows, data.trimmed().times, data.labels)


def _grid_fix(physics: Physics, data: Trajectories) -> str:
    if not data.grid:
        return "Read fields on a grid, or leave out the physics' grid=."
    extra = [axis for axis in data.grid if axis not in physics.grid]
    if len(data) == 1 and len(extra) == 1 and len(data.grid) == len(physics.grid) + 1:
        name = extra[0]
        return f"If {name!r} tells trajectories apart, read with trajectory={name!r} (--trajectory {name})."
    return "Rename or transpose them."


def _inputs_fix(physics: Physics, names: Sequence[str]) -> str:
    if set(names) - set(physics.inputs):
        return f"Give the physics inputs={list(names)} and a fourth argument, f(t, x, p, u), or read without these."
    return f"Read with inputs={list(physics.inputs)}."


def check_same_grid(data: Trajectories, validation: Trajectories) -> None:
    if validation.values.shape[3:] != data.values.shape[3:]:
        raise GreymatchError(
            f"`validation` must lie on the grid of `data`, {tuple(data.values.shape[3:])}; "
            f"got {tuple(validation.values.shape[3:])}."
        )


def check_function(physics: Physics, data: Trajectories, path: AnyPath) -> None:
    """Run the user's function on real rows before anything expensive: first, last and random points of trajectories."""
    rows = torch.arange(len(data))[:CHECKED_ROWS]
    last = (data.lengths[rows] - 1)[:, None]
    anywhere = (torch.rand((len(rows), 2), generator=torch.Generator().manual_seed(0)) * (last + 1)).long()
    times = data.times[rows[:, None], torch.cat([torch.zeros_like(last), last, anywhere], 1)]
    matched = path.at(rows, times)
    moving = torch.cat([matched.position] + [matched.velocity] * (physics.order - 1), 2)
    inputs = data.inputs.at(rows, times).flatten(0, 1).float() if data.inputs else None
    check_physics(physics, times.flatten(), moving.flatten(0, 1).float(), inputs)
